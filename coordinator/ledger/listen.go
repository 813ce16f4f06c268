package ledger

import (
	"context"
	"fmt"
)

// channel is the database's notification channel for appended entries.
const channel = "patchd_ledger"

// Notification says that an entry was committed. Seq zero means "look again": it comes once when listening
// begins, so that a listener that catches up then misses nothing.
type Notification struct {
	Target TargetID
	Seq    Seq
	Kind   Kind
}

func notification(e RecordedEntry) string { return fmt.Sprintf("%d %d %s", e.Target, e.Seq, e.Kind) }

// Listen calls handle for every entry committed from now on, in order of commit, until handle fails, ctx ends or
// the connection breaks; the reason is returned. It uses one connection of its own and starts no goroutine: the
// caller runs it in one, and calls it again after a broken connection.
func (s *Store) Listen(ctx context.Context, handle func(Notification) error) error {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("listen for entries: %w", err)
	}
	conn := pooled.Hijack()
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return fmt.Errorf("listen for entries: %w", err)
	}
	if err := handle(Notification{}); err != nil {
		return err
	}
	for {
		msg, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("listen for entries: %w", err)
		}
		var n Notification
		if _, err := fmt.Sscanf(msg.Payload, "%d %d %s", &n.Target, &n.Seq, &n.Kind); err != nil {
			return fmt.Errorf("listen for entries: payload %q: %w", msg.Payload, err)
		}
		if err := handle(n); err != nil {
			return err
		}
	}
}
