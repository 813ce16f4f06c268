package service

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"

	"patchd/coordinator"
	"patchd/coordinator/checker"
	"patchd/coordinator/ledger"
	"patchd/coordinator/service/webhook"
	"patchd/worktree/git"
)

// Service is one daemon. Open makes it, Run works until its context ends, Close lets go of everything.
// All methods are safe for concurrent use.
type Service struct {
	config   Config
	store    *ledger.Store
	repos    []*repository
	jobs     *river.Client[pgx.Tx]
	hub      *hub
	runner   *checker.Runner
	asking   keyed[ledger.VerdictKey] // the questions whose commands run just now
	settling keyed[ledger.TargetID]   // the targets whose state is worked out just now
	rounding keyed[roundKey]          // the rounds that go on just now
	landing  keyed[ledger.TargetID]   // the targets that are moved just now

	hook *webhook.Sender // nil: nobody is told

	running sync.RWMutex // write-held while Run starts and ends the workers
	ready   bool
	metrics *metrics
}

// repository is one served repository.
type repository struct {
	name    string
	row     ledger.Repository
	git     *git.Repo
	engine  *coordinator.Engine
	checker *checker.Checker
	targets []*target
	refs    sync.Mutex // serialises ref transactions of this process

	packsKept int // how many packs the last gathering left; of housekeep alone
}

// target is one guarded branch.
type target struct {
	repo     *repository
	id       ledger.TargetID
	ref      git.Ref
	admitted *lru.Cache[ledger.Identity, *coordinator.Submission]

	anchorTrouble string // what last kept the head from being anchored; of anchorAll alone
}

// Open migrates the database, opens the repositories and records the targets. Nothing runs yet.
func Open(ctx context.Context, c Config) (*Service, error) {
	c = c.withDefaults()
	if err := ledger.Migrate(ctx, c.DatabaseURL, ledger.Options{Clock: c.Clock, Logger: c.Logger}); err != nil {
		return nil, fmt.Errorf("migrate database: %w", err)
	}
	store, err := ledger.Open(ctx, c.DatabaseURL, ledger.Options{Clock: c.Clock, Logger: c.Logger})
	if err != nil {
		return nil, err
	}
	s := &Service{config: c, store: store, hub: newHub(), metrics: newMetrics()}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close()) //nolint:contextcheck // closing goes on where the context ended
	}
	return s, nil
}

func (s *Service) open(ctx context.Context) (err error) {
	if err := s.openRunner(ctx); err != nil {
		return err
	}
	if s.config.Webhook.URL != "" {
		if s.hook, err = webhook.New(s.config.Webhook, s.config.Clock); err != nil {
			return errf(ErrInvalid, "webhook", "", "%v", err)
		}
	}
	for _, rc := range s.config.Repos {
		repo, err := s.openRepository(ctx, rc)
		if err != nil {
			return fmt.Errorf("serve repository %q: %w", rc.Dir, err)
		}
		if slices.ContainsFunc(s.repos, func(r *repository) bool { return r.name == repo.name }) {
			return errf(ErrInvalid, "repo", "give one of them another name: --repo NAME=DIR", "two repositories are called %q", repo.name)
		}
		s.repos = append(s.repos, repo)
	}
	return s.openJobs()
}

// openRunner prepares checks, which takes a look at what this machine offers to confine them.
func (s *Service) openRunner(ctx context.Context) (err error) {
	if s.runner = s.config.Runner; s.runner != nil {
		return nil
	}
	s.runner, err = checker.NewRunner(ctx, checker.RunnerConfig{
		Command: s.config.SandboxCommand, AllowUnsandboxed: s.config.AllowUnsandboxed, Mounts: s.config.CheckMounts, Clock: s.config.Clock, Lookup: s.config.CheckEnv,
	})
	if err != nil {
		return fmt.Errorf("prepare checks: %w", err)
	}
	return nil
}

func (s *Service) openRepository(ctx context.Context, rc RepoConfig) (*repository, error) {
	name := rc.Name
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(rc.Dir), ".git")
	}
	repo, err := git.Open(ctx, rc.Dir, git.Options{
		Scratch: filepath.Join(s.config.DataDir, "scratch"), Logger: s.config.Logger, UserEnv: s.config.UserEnv,
	})
	if err != nil {
		return nil, err
	}
	r := &repository{name: name, git: repo}
	r.engine = coordinator.NewEngine(coordinator.EngineConfig{Repo: repo, Outlines: s.config.Outlines})
	if r.checker, err = checker.New(ctx, s.runner, repo, filepath.Join(s.config.DataDir, "worktrees", name)); err != nil {
		return nil, errors.Join(err, repo.Close())
	}
	err = s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		if r.row, err = tx.EnsureRepository(ctx, name, repo.CommonDir()); err != nil {
			return err
		}
		r.targets = nil
		for _, ref := range rc.Targets {
			row, err := tx.EnsureTarget(ctx, r.row.ID, ref)
			if err != nil {
				return err
			}
			admitted, err := lru.New[ledger.Identity, *coordinator.Submission](admittedEntries)
			if err != nil {
				return fmt.Errorf("make cache: %w", err)
			}
			r.targets = append(r.targets, &target{repo: r, id: row.ID, ref: ref, admitted: admitted})
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, r.checker.Close(ctx), repo.Close())
	}
	return r, nil
}

// Run works until ctx ends, then stops cleanly: jobs under way get the time that they need to notice.
func (s *Service) Run(ctx context.Context) error {
	if err := s.recoverPatiently(ctx); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return s.listen(running) })
	group.Go(func() error { return s.watch(running) })
	group.Go(func() error { return s.anchor(running) })
	group.Go(func() error { return s.work(running) })
	group.Go(func() error { return s.autoSeal(running) })
	group.Go(func() error { return s.housekeep(running) })
	if s.hook != nil {
		group.Go(func() error { return s.queueHooks(running) })
	}
	err := group.Wait()
	s.anchorAll(context.WithoutCancel(ctx)) // once more, for what was recorded while it stopped
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// recoverPatiently recovers, again where the database went away meanwhile.
func (s *Service) recoverPatiently(ctx context.Context) error {
	for {
		err := s.recover(ctx)
		if err == nil || ctx.Err() != nil || !databaseAway(err) {
			return err
		}
		s.warn(ctx, "the database went away while recovering", err)
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// work runs River's workers until ctx ends.
func (s *Service) work(ctx context.Context) error {
	base := context.WithoutCancel(ctx)
	for {
		err := s.jobs.Start(base)
		if err == nil {
			break
		}
		if !databaseAway(err) || pause(ctx, time.Second) != nil {
			return fmt.Errorf("start workers: %w", err)
		}
	}
	s.setReady(true)
	<-ctx.Done()
	s.setReady(false)
	if err := s.jobs.StopAndCancel(base); err != nil {
		return fmt.Errorf("stop workers: %w", err)
	}
	return nil
}

func (s *Service) setReady(ready bool) {
	s.running.Lock()
	defer s.running.Unlock()
	s.ready = ready
}

// Ready reports whether workers run and the database answers.
func (s *Service) Ready(ctx context.Context) error {
	s.running.RLock()
	ready := s.ready
	s.running.RUnlock()
	if !ready {
		return errf(ErrUnavailable, "", "try again in a moment", "the daemon is starting or stopping")
	}
	if err := s.store.Ping(ctx); err != nil {
		return errf(ErrUnavailable, "", "see the daemon's log", "the database does not answer: %v", err)
	}
	return nil
}

// Close gives back worktrees, git processes and connections.
func (s *Service) Close() error {
	var errs []error
	for _, r := range s.repos {
		errs = append(errs, r.checker.Close(context.Background()), r.git.Close())
	}
	if s.hook != nil {
		s.hook.Close()
	}
	s.store.Close()
	return errors.Join(errs...)
}

// lookup finds a target by repository name and ref; empty names mean the only one served.
func (s *Service) lookup(repo string, ref git.Ref) (*target, error) {
	var found []*target
	for _, r := range s.repos {
		for _, t := range r.targets {
			if (repo == "" || r.name == repo) && (ref == "" || t.ref == ref || string(t.ref) == "refs/heads/"+string(ref)) {
				found = append(found, t)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, errf(ErrNotFound, "target", "served are: "+s.served(), "no target %q of repository %q is served", ref, repo)
	}
	return nil, errf(ErrAmbiguous, "target", "name repository and target; served are: "+s.served(), "more than one target is served")
}

func (s *Service) served() string {
	var names []string
	for _, r := range s.repos {
		for _, t := range r.targets {
			names = append(names, r.name+" "+string(t.ref))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (s *Service) byID(id ledger.TargetID) (*target, bool) {
	for _, r := range s.repos {
		for _, t := range r.targets {
			if t.id == id {
				return t, true
			}
		}
	}
	return nil, false
}
