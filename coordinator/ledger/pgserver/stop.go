package pgserver

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Stop shuts the server down (fast, then at once, then by force), waits until its process has ended, and gives
// the data directory free. An ephemeral server's files are deleted. Ending ctx hastens it. A second Stop does
// nothing.
func (s *Server) Stop(ctx context.Context) error { return s.stop(ctx, s.opt.Ephemeral) }

// Remove is Stop, and deletes the server's files, data included.
func (s *Server) Remove(ctx context.Context) error { return s.stop(ctx, true) }

func (s *Server) stop(ctx context.Context, files bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	if !shutDown(ctx, s.process) {
		s.process.forget()
		return fmt.Errorf("stop private PostgreSQL: process %d does not end", s.process.pid)
	}
	s.discard(files)
	return nil
}

// Erase deletes the server of a data directory that no daemon uses, wherever its files are: a *LockedError or a
// server that still runs keeps them. What else is in the data directory stays.
func Erase(dataDir string) error {
	who, err := serverAccount()
	if err != nil {
		return fmt.Errorf("erase private PostgreSQL: %w", err)
	}
	lock, err := lockDir(dataDir, who)
	if err != nil {
		return fmt.Errorf("erase private PostgreSQL: %w", err)
	}
	defer lock.release()
	at, err := settle(lock.dir, who)
	if err != nil {
		return fmt.Errorf("erase private PostgreSQL: %w", err)
	}
	if file, err := readPIDFile(at.cluster()); err == nil && alive(file.pid) && isServer(file.pid) {
		return fmt.Errorf("erase private PostgreSQL: process %d still runs on it", file.pid)
	}
	at.remove()
	return nil
}

// Restart shuts the server down (fast) and starts it again on the same socket; when it has died already it is
// only started.
func (s *Server) Restart(ctx context.Context) error {
	return s.again(ctx, func(p *process) error {
		shutDown(ctx, p)
		return nil // again looks whether it has ended
	})
}

// RestartImmediate ends the server without a checkpoint (PostgreSQL's immediate shutdown) and starts it again, which
// recovers from its log.
func (s *Server) RestartImmediate(ctx context.Context) error {
	return s.again(ctx, func(p *process) error { return p.signal(syscall.SIGQUIT) })
}

// Crash kills the server's main process (SIGKILL) and waits until it is gone; Restart brings it back.
func (s *Server) Crash(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return errors.New("crash private PostgreSQL: it is stopped")
	}
	if err := s.process.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("crash private PostgreSQL: %w", err)
	}
	if !ended(ctx, s.process, immediateGrace) {
		return fmt.Errorf("crash private PostgreSQL: process %d does not end", s.process.pid)
	}
	return nil
}

func (s *Server) again(ctx context.Context, end func(*process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return errors.New("restart private PostgreSQL: it is stopped")
	}
	if err := end(s.process); err != nil {
		return fmt.Errorf("restart private PostgreSQL: %w", err)
	}
	if !ended(ctx, s.process, fastGrace) {
		return fmt.Errorf("restart private PostgreSQL: process %d does not end", s.process.pid)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.StartTimeout)
	defer cancel()
	if err := s.launch(ctx); err != nil {
		return fmt.Errorf("restart private PostgreSQL: %w", err)
	}
	return nil
}
