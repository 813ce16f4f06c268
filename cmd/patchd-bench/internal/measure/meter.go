package measure

import (
	"context"
	"sync/atomic"
	"time"

	"patchd/coordinator"
	"patchd/ownership/symbols"
	"patchd/worktree/git"
)

// Clock tells the time.
type Clock func() time.Time

// Stage is time spent in one kind of call, and how often it was made. It is safe for concurrent use.
type Stage struct {
	nanos, calls atomic.Int64
}

func (s *Stage) add(d time.Duration) {
	s.nanos.Add(int64(d))
	s.calls.Add(1)
}

// Time is the time spent so far.
func (s *Stage) Time() time.Duration { return time.Duration(s.nanos.Load()) }

// Calls is how many calls were made so far.
func (s *Stage) Calls() int64 { return s.calls.Load() }

// Meter says where the time of decisions goes: reading objects, ancestry, git's own merge, outlines. What is left of the
// whole is computing.
type Meter struct {
	Reads, Ancestry, Merges, Outlines Stage
	OutlineFiles, OutlineBytes        atomic.Int64
	clock                             Clock
}

// NewMeter makes a meter.
func NewMeter(clock Clock) *Meter { return &Meter{clock: clock} }

// Repository meters a repository.
func (m *Meter) Repository(r coordinator.Repository) coordinator.Repository {
	return &meteredRepository{r, m}
}

// Outliner meters an outliner.
func (m *Meter) Outliner(o symbols.Outliner) symbols.Outliner { return &meteredOutliner{o, m} }

type meteredRepository struct {
	coordinator.Repository
	meter *Meter
}

func timed[T any](m *Meter, s *Stage, f func() (T, error)) (T, error) {
	start := m.clock()
	defer func() { s.add(m.clock().Sub(start)) }()
	return f()
}

// Read implements git.Reader.
func (r *meteredRepository) Read(ctx context.Context, id git.OID) (git.Object, error) {
	return timed(r.meter, &r.meter.Reads, func() (git.Object, error) { return r.Repository.Read(ctx, id) })
}

// ReadBlob implements git.Reader.
func (r *meteredRepository) ReadBlob(ctx context.Context, id git.OID) ([]byte, error) {
	return timed(r.meter, &r.meter.Reads, func() ([]byte, error) { return r.Repository.ReadBlob(ctx, id) })
}

// ReadTree implements git.Reader.
func (r *meteredRepository) ReadTree(ctx context.Context, id git.OID) (git.Tree, error) {
	return timed(r.meter, &r.meter.Reads, func() (git.Tree, error) { return r.Repository.ReadTree(ctx, id) })
}

// ReadCommit implements git.Reader.
func (r *meteredRepository) ReadCommit(ctx context.Context, id git.OID) (*git.Commit, error) {
	return timed(r.meter, &r.meter.Reads, func() (*git.Commit, error) { return r.Repository.ReadCommit(ctx, id) })
}

// IsAncestor implements coordinator.Repository.
func (r *meteredRepository) IsAncestor(ctx context.Context, a, b git.OID) (bool, error) {
	return timed(r.meter, &r.meter.Ancestry, func() (bool, error) { return r.Repository.IsAncestor(ctx, a, b) })
}

// MergeTree implements worktree.Merger.
func (r *meteredRepository) MergeTree(ctx context.Context, ov *git.Overlay, base, ours, theirs git.OID) (git.MergeResult, error) {
	return timed(r.meter, &r.meter.Merges, func() (git.MergeResult, error) { return r.Repository.MergeTree(ctx, ov, base, ours, theirs) })
}

type meteredOutliner struct {
	symbols.Outliner
	meter *Meter
}

// Outlines implements symbols.Outliner.
func (o *meteredOutliner) Outlines(ctx context.Context, files []symbols.Request) ([]symbols.Result, error) {
	o.meter.OutlineFiles.Add(int64(len(files)))
	for _, f := range files {
		o.meter.OutlineBytes.Add(int64(len(f.Text)))
	}
	return timed(o.meter, &o.meter.Outlines, func() ([]symbols.Result, error) { return o.Outliner.Outlines(ctx, files) })
}
