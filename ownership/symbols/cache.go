package symbols

import (
	"container/list"
	"sync"
)

// cache keeps results by content and grammar, the least recently used ones leave first.
type cache struct {
	mu    sync.Mutex
	limit int
	size  int
	order *list.List
	items map[cacheKey]*list.Element
}

type cacheKey struct{ blob, grammar string }

type cacheItem struct {
	key    cacheKey
	result Result
	size   int
}

func newCache(limit int) *cache {
	return &cache{limit: limit, order: list.New(), items: map[cacheKey]*list.Element{}}
}

func (c *cache) get(k cacheKey) (Result, bool) {
	if k.blob == "" {
		return Result{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[k]
	if !ok {
		return Result{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheItem).result, true
}

func (c *cache) put(k cacheKey, r Result) {
	if k.blob == "" {
		return
	}
	size := footprint(r)
	if size > c.limit/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[k]; ok {
		return
	}
	c.items[k] = c.order.PushFront(&cacheItem{k, r, size})
	c.size += size
	for c.size > c.limit {
		last := c.order.Back()
		item := last.Value.(*cacheItem)
		c.order.Remove(last)
		delete(c.items, item.key)
		c.size -= item.size
	}
}

// footprint estimates the bytes that a result takes.
func footprint(r Result) int {
	if r.Outline == nil {
		return 256
	}
	size := 512 + len(r.Outline.Uses)*24 + len(r.Outline.Text)*8 + len(r.Outline.Names)*32 + len(r.Outline.Imports)*64
	for i := range r.Outline.Symbols {
		size += 320 + len(r.Outline.Symbols[i].Shape)*4 + len(r.Outline.Symbols[i].Params)
	}
	return size
}
