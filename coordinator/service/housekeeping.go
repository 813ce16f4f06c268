package service

import (
	"context"
	"log/slog"
	"time"
)

// Bounds of housekeeping: each decision with a candidate leaves a pack, and every process that reads objects pays for each.
const (
	mostPacks         = 50
	packBatchBytes    = 64 << 20
	defaultHousekeep  = time.Minute
	housekeepingLimit = 30 * time.Minute
)

// housekeep keeps the repositories in good order while the daemon runs.
func (s *Service) housekeep(ctx context.Context) error {
	ticker := time.NewTicker(s.config.HousekeepInterval)
	defer ticker.Stop()
	for {
		for _, r := range s.repos {
			if err := s.gatherPacks(ctx, r); err != nil && ctx.Err() == nil {
				s.warn(ctx, "cannot gather packs", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// gatherPacks consolidates a repository's packs where there are too many. Readers go on meanwhile.
func (s *Service) gatherPacks(ctx context.Context, r *repository) error {
	packs, err := r.git.Packs()
	if err != nil || packs <= r.packsKept+mostPacks {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, housekeepingLimit)
	defer cancel()
	if err := r.git.Consolidate(limited, packBatchBytes); err != nil {
		return err
	}
	after, err := r.git.Packs()
	if err != nil {
		return err
	}
	r.packsKept = after // those are too large to gather: they are not tried again at every look
	s.config.Logger.InfoContext(ctx, "gathered packs", slog.String("repo", r.name), slog.Int("before", packs), slog.Int("after", after))
	return nil
}
