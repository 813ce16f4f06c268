package git

import (
	"container/list"
	"sync"
)

// lru is a bounded cache of immutable values; the bound is on the sum of the sizes that callers name, in bytes.
type lru[K comparable, V any] struct {
	mu    sync.Mutex
	limit int64
	used  int64
	order *list.List
	byKey map[K]*list.Element
}

type lruItem[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

func newLRU[K comparable, V any](limit int64) *lru[K, V] {
	return &lru[K, V]{limit: limit, order: list.New(), byKey: map[K]*list.Element{}}
}

func (c *lru[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(at)
	return at.Value.(*lruItem[K, V]).value, true
}

// put keeps a value unless it alone would take an eighth of the cache.
func (c *lru[K, V]) put(key K, value V, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.byKey[key]; known || size > c.limit/8 {
		return
	}
	c.byKey[key] = c.order.PushFront(&lruItem[K, V]{key: key, value: value, size: size})
	for c.used += size; c.used > c.limit; {
		last := c.order.Back()
		item := last.Value.(*lruItem[K, V])
		c.order.Remove(last)
		delete(c.byKey, item.key)
		c.used -= item.size
	}
}
