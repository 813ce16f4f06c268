package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"patchd/cmd/patchd-bench/internal/history"
	"patchd/cmd/patchd-bench/internal/measure"
	"patchd/coordinator"
	"patchd/ownership/symbols"
	"patchd/worktree/git"
)

// stand is a scratch repository with an engine over it.
type stand struct {
	*history.Scratch
	dir      string
	repo     *git.Repo
	outlines *symbols.Pool
	engine   *coordinator.Engine
	meter    *measure.Meter
}

// open makes a scratch repository for a real one and an engine over it.
func (b *bench) open(ctx context.Context, source string) (*stand, error) {
	dir := filepath.Join(b.scratch, fmt.Sprintf("%x", b.clock().UnixNano()))
	scratch, err := history.NewScratch(ctx, source, dir, b.searchPath)
	if err != nil {
		return nil, err
	}
	s := &stand{Scratch: scratch, dir: dir}
	return s, s.renew(ctx, b)
}

// renew replaces repository, parsers and engine by ones whose caches are empty.
func (s *stand) renew(ctx context.Context, b *bench) (err error) {
	if err := s.close(); err != nil {
		return err
	}
	if s.repo, err = git.Open(ctx, s.Dir, git.Options{Scratch: s.dir}); err != nil {
		return fmt.Errorf("open repository: %w", err)
	}
	s.outlines = symbols.NewPool(symbols.Options{Command: []string{b.self, modeOutline}})
	s.meter = measure.NewMeter(b.clock)
	s.engine = coordinator.NewEngine(coordinator.EngineConfig{Repo: s.meter.Repository(s.repo), Outlines: s.meter.Outliner(s.outlines)})
	return nil
}

// close ends the processes.
func (s *stand) close() error {
	if s.repo == nil {
		return nil
	}
	if err := errors.Join(s.outlines.Close(), s.repo.Close()); err != nil {
		return fmt.Errorf("end processes: %w", err)
	}
	return nil
}

// manifest writes the manifest of a patch as a submitter would. A key makes its submission one that may be repeated.
func manifest(base git.OID, paths []string, diff []byte, label, key string) ([]byte, error) {
	raw, err := json.Marshal(&coordinator.Manifest{
		PatchID: coordinator.PatchID(label), BaseCommit: base, Paths: paths, OwnedHunks: []coordinator.OwnedHunk{}, RequiredChecks: []string{},
		DiffSHA256: coordinator.SHA256(diff), Title: label, ClientRequestID: key,
	})
	if err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return raw, nil
}
