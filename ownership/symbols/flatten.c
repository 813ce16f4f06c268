#include "flatten.h"

#include <stdlib.h>

// What is used of tree-sitter's public C interface (api.h, language version 14). The functions are linked in with
// the Go bindings, which do not export their headers.
typedef uint16_t TSSymbol;
typedef uint16_t TSFieldId;
typedef struct TSLanguage TSLanguage;
typedef struct TSParser TSParser;
typedef struct TSTree TSTree;
typedef struct {
  uint32_t context[4];
  const void *id;
  const TSTree *tree;
} TSNode;
typedef struct {
  const void *tree;
  const void *id;
  uint32_t context[3];
} TSTreeCursor;

TSParser *ts_parser_new(void);
void ts_parser_delete(TSParser *self);
bool ts_parser_set_language(TSParser *self, const TSLanguage *language);
void ts_parser_set_timeout_micros(TSParser *self, uint64_t micros);
TSTree *ts_parser_parse_string(TSParser *self, const TSTree *old, const char *text, uint32_t length);
void ts_tree_delete(TSTree *self);
TSNode ts_tree_root_node(const TSTree *self);
TSSymbol ts_node_symbol(TSNode self);
uint32_t ts_node_start_byte(TSNode self);
uint32_t ts_node_end_byte(TSNode self);
bool ts_node_is_missing(TSNode self);
TSTreeCursor ts_tree_cursor_new(TSNode node);
void ts_tree_cursor_delete(TSTreeCursor *self);
TSNode ts_tree_cursor_current_node(const TSTreeCursor *self);
TSFieldId ts_tree_cursor_current_field_id(const TSTreeCursor *self);
bool ts_tree_cursor_goto_parent(TSTreeCursor *self);
bool ts_tree_cursor_goto_next_sibling(TSTreeCursor *self);
bool ts_tree_cursor_goto_first_child(TSTreeCursor *self);
uint32_t ts_language_field_count(const TSLanguage *self);

typedef struct {
  patchd_node *nodes;
  uint32_t count, room, max;
} list;

// add appends the cursor's node. It gives the node's place, or minus an error.
static int32_t add(list *l, const TSTreeCursor *cursor, int32_t parent, int32_t prev) {
  if (l->count >= l->max) return -PATCHD_TOO_MANY;
  if (l->count == l->room) {
    uint32_t room = l->room * 2;
    patchd_node *more = realloc(l->nodes, room * sizeof *more);
    if (!more) return -PATCHD_NO_MEMORY;
    l->nodes = more;
    l->room = room;
  }
  TSNode n = ts_tree_cursor_current_node(cursor);
  TSFieldId field = ts_tree_cursor_current_field_id(cursor);
  patchd_node *p = &l->nodes[l->count];
  p->start = ts_node_start_byte(n);
  p->end = ts_node_end_byte(n);
  p->parent = parent;
  p->prev = prev;
  p->symbol = ts_node_symbol(n);
  p->field = field < 256 ? (uint8_t)field : 0;
  p->flags = ts_node_is_missing(n) ? PATCHD_MISSING : 0;
  return (int32_t)l->count++;
}

static int walk(TSTreeCursor *cursor, list *l, uint32_t max_depth) {
  uint32_t depth = 0;
  int32_t at = add(l, cursor, -1, -1);
  while (at >= 0) {
    if (depth < max_depth && ts_tree_cursor_goto_first_child(cursor)) {
      depth++;
      at = add(l, cursor, at, -1);
      continue;
    }
    if (depth >= max_depth) l->nodes[at].flags |= PATCHD_CUT;
    while (!ts_tree_cursor_goto_next_sibling(cursor)) {
      if (!ts_tree_cursor_goto_parent(cursor)) return PATCHD_OK;
      depth--;
      at = l->nodes[at].parent;
    }
    at = add(l, cursor, l->nodes[at].parent, at);
  }
  return -at;
}

int patchd_parse(const void *language, const char *text, uint32_t length, uint64_t micros, uint32_t max_depth, uint32_t max_nodes,
                 patchd_node **out, uint32_t *count) {
  *out = NULL;
  *count = 0;
  TSParser *parser = ts_parser_new();
  ts_parser_set_language(parser, language);
  ts_parser_set_timeout_micros(parser, micros);
  TSTree *tree = ts_parser_parse_string(parser, NULL, text, length);
  if (!tree) {
    ts_parser_delete(parser);
    return PATCHD_NO_TREE;
  }
  list l = {NULL, 0, length / 3 + 64, max_nodes};
  l.nodes = malloc(l.room * sizeof *l.nodes);
  int result = PATCHD_NO_MEMORY;
  if (l.nodes) {
    TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
    result = walk(&cursor, &l, max_depth);
    ts_tree_cursor_delete(&cursor);
  }
  ts_tree_delete(tree);
  ts_parser_delete(parser);
  *out = l.nodes;
  *count = l.count;
  return result;
}

uint32_t patchd_field_count(const void *language) { return ts_language_field_count(language); }
