package repro

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"patchd/coordinator/ledger"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

// Coordinator is what is tried: *service.Service, or one that decides otherwise.
type Coordinator interface {
	Submit(ctx context.Context, in service.Submission) (*service.Receipt, error)
	Withdraw(ctx context.Context, by service.Credential, repo string, ref git.Ref, key, why string) (*service.Patch, error)
	Seal(ctx context.Context, in service.SealRequest) (*service.Round, error)
	WaitRound(ctx context.Context, repo string, ref git.Ref, number int64) (*service.Round, error)
	Land(ctx context.Context, by service.Credential, repo string, ref git.Ref, number int64) (*service.Round, error)
	Quiet(ctx context.Context, repo string, ref git.Ref) (Digest, error)
	State(ctx context.Context, repo string, ref git.Ref) (*State, error)
}

// Open starts a coordinator; what it gives stops it.
type Open func(ctx context.Context, c service.Config) (Coordinator, func() error, error)

// Serve is Open for the service itself.
func Serve(ctx context.Context, c service.Config) (Coordinator, func() error, error) {
	svc, err := service.Open(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- svc.Run(running) }()
	return svc, func() error { //nolint:contextcheck // what is let go of must be, whatever ended
		cancel()
		err := <-stopped
		if errors.Is(err, context.Canceled) {
			err = nil // it was stopped before it had begun
		}
		return errors.Join(err, svc.Close())
	}, nil
}

// lane is a database on which runs happen one after another. A run has a repository of its own there, and with it a chain, a set,
// request keys and verdicts of its own: making a database for each run would take longer than the run.
type lane struct{ name, url string }

// lanes makes the databases, several runs' at once; what it gives removes them.
func (x *experiment) lanes(ctx context.Context) (free chan lane, remove func() error, err error) {
	free = make(chan lane, max(x.config.Parallel, 1))
	var made []string
	remove = func() error {
		var errs []error
		for _, name := range made {
			errs = append(errs, ledger.DropDatabase(context.WithoutCancel(ctx), x.config.Server, name))
		}
		return errors.Join(errs...)
	}
	for i := range cap(free) {
		name := fmt.Sprintf("%s_%d", x.config.Template, i)
		url, err := ledger.CloneDatabase(ctx, x.config.Server, x.config.Template, name)
		if err != nil {
			return nil, nil, errors.Join(err, remove())
		}
		made = append(made, name)
		free <- lane{name, url}
	}
	return free, remove, nil
}

// place is where one run happens. Its repository borrows the objects of the one that is tried, has the target branch and nothing
// else, and keeps what is written to itself.
type place struct {
	name   string // of the repository
	dir    string
	lane   lane
	config service.Config
}

func (x *experiment) newPlace(ctx context.Context, number int) (*place, error) {
	p := &place{name: fmt.Sprintf("run-%d", number), dir: filepath.Join(x.config.Scratch, fmt.Sprintf("run-%d", number))}
	repo := filepath.Join(p.dir, "repo.git")
	if err := borrow(x.config.Objects, repo, x.config.Target, x.target); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case p.lane = <-x.free:
	}
	p.config = x.config.Service
	p.config.DatabaseURL, p.config.DataDir = p.lane.url, filepath.Join(p.dir, "data")
	p.config.Repos = []service.RepoConfig{{Name: p.name, Dir: repo, Targets: []git.Ref{x.config.Target}}}
	return p, nil
}

// leave gives the lane to the next run and removes the place's files.
func (x *experiment) leave(p *place) error {
	x.free <- p.lane
	if err := os.RemoveAll(p.dir); err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	return nil
}

// borrow makes a bare repository over the objects of another one, with one branch.
func borrow(objects, dir string, branch git.Ref, at git.OID) error {
	files := map[string]string{
		"HEAD": "ref: " + string(branch) + "\n", "config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
		"objects/info/alternates": objects + "\n", string(branch): string(at) + "\n", "objects/pack/.keep": "",
	}
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a repository is readable
			return fmt.Errorf("make repository: %w", err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil { //nolint:gosec // a repository is readable
			return fmt.Errorf("make repository: %w", err)
		}
	}
	return nil
}
