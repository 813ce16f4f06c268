#include <stdlib.h>
#include "queue.h"

#define LIMIT 64
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* One link of the chain. */
struct link {
	struct link *next;
	void *item;
};

enum order { FIFO, LIFO };

typedef struct {
	struct link *head;
	int size;
} queue;

static int total = 0, peak;

static void grow(queue *q, int by);

/* Adds an item at the end. */
int queue_push(queue *q, void *item)
{
	struct link *l = malloc(sizeof *l);

	if (!l)
		return -1;
	l->item = item;
	q->size++;
	total = MIN(total + 1, LIMIT);
	return 0;
}

static void grow(queue *q, int by)
{
	q->size += by;
}
