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

// repoName is what a run's repository is called.
const repoName = "repro"

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
	return svc, func() error {
		cancel()
		err := <-stopped
		if errors.Is(err, context.Canceled) {
			err = nil // it was stopped before it had begun
		}
		return errors.Join(err, svc.Close())
	}, nil
}

// place is where one run happens: a database and a repository of its own. The repository borrows the objects of the one that
// is tried, has the target branch and nothing else, and keeps what is written to itself.
type place struct {
	server, name string // the database
	dir          string
	config       service.Config
}

func (x *experiment) newPlace(ctx context.Context, number int) (*place, error) {
	p := &place{server: x.config.Server, name: fmt.Sprintf("%s_%d", x.config.Template, number), dir: filepath.Join(x.config.Scratch, fmt.Sprintf("run-%d", number))}
	repo := filepath.Join(p.dir, "repo.git")
	if err := borrow(x.config.Objects, repo, x.config.Target, x.target); err != nil {
		return nil, err
	}
	url, err := ledger.CloneDatabase(ctx, p.server, x.config.Template, p.name)
	if err != nil {
		return nil, err
	}
	p.config = x.config.Service
	p.config.DatabaseURL, p.config.DataDir = url, filepath.Join(p.dir, "data")
	p.config.Repos = []service.RepoConfig{{Name: repoName, Dir: repo, Targets: []git.Ref{x.config.Target}}}
	return p, nil
}

// remove leaves nothing of the place.
func (p *place) remove(ctx context.Context) error {
	return errors.Join(ledger.DropDatabase(ctx, p.server, p.name), os.RemoveAll(p.dir))
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
