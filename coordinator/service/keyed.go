package service

import (
	"context"
	"sync"
)

// keyed holds one lock for each key that is in use.
type keyed[K comparable] struct {
	mu   sync.Mutex
	held map[K]chan struct{} // closed when the lock is given back
}

// lock waits for the key's lock, or fails with ctx, and gives what gives it back.
func (k *keyed[K]) lock(ctx context.Context, key K) (unlock func(), err error) {
	for {
		k.mu.Lock()
		busy, taken := k.held[key]
		if !taken {
			if k.held == nil {
				k.held = map[K]chan struct{}{}
			}
			free := make(chan struct{})
			k.held[key] = free
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				defer k.mu.Unlock()
				delete(k.held, key)
				close(free)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-busy:
		}
	}
}
