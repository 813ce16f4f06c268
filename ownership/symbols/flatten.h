// One call parses a text and copies the whole tree out: crossing between Go and C for each node costs more than the
// parsing itself.

#ifndef PATCHD_FLATTEN_H
#define PATCHD_FLATTEN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint32_t start, end;
  int32_t parent, prev; // places in the array, -1 for none
  uint16_t symbol;
  uint8_t field;
  uint8_t flags;
} patchd_node;

enum { PATCHD_MISSING = 1, PATCHD_CUT = 2 };
enum { PATCHD_OK = 0, PATCHD_NO_TREE = 1, PATCHD_TOO_MANY = 2, PATCHD_NO_MEMORY = 3 };

// patchd_parse gives the nodes in pre-order in *out, to be freed by the caller whatever the answer is. The children
// of nodes at max_depth are left out, and those nodes flagged PATCHD_CUT.
int patchd_parse(const void *language, const char *text, uint32_t length, uint64_t micros, uint32_t max_depth, uint32_t max_nodes,
                 patchd_node **out, uint32_t *count);

uint32_t patchd_field_count(const void *language);

#endif
