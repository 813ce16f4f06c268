package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"patchd/checks/sandbox"
	"patchd/coordinator/ledger/pgserver"
	"patchd/worktree/git"
)

// examineMachine looks at what patchd needs of any machine.
func (a *app) examineMachine(ctx context.Context, databaseURL string) []finding {
	return []finding{a.examineGit(ctx), a.examineDatabase(ctx, databaseURL), a.examineSandbox(ctx), a.examineDataDir(ctx)}
}

// examineGit opens an empty repository of ours, which asks git for its version.
func (a *app) examineGit(ctx context.Context) finding {
	const name = "git"
	dir, err := os.MkdirTemp("", "patchd-doctor-")
	if err != nil {
		return bad(name, err.Error(), "make the temporary directory writable, or set TMPDIR")
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := makeRepository(dir, "main"); err != nil {
		return bad(name, err.Error(), "make the temporary directory writable, or set TMPDIR")
	}
	repo, err := git.Open(ctx, dir, git.Options{})
	var unsupported *git.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return bad(name, "patchd does not work with "+unsupported.What, unsupported.Hint)
	case err != nil:
		return bad(name, err.Error(), "install git 2.38 or newer")
	}
	defer func() { _ = repo.Close() }()
	return good(name, "version "+repo.Version())
}

// examineDatabase connects to the database given, or starts a private server for a moment.
func (a *app) examineDatabase(ctx context.Context, url string) finding {
	const name = "PostgreSQL"
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if url != "" {
		return examineURL(limited, name, url)
	}
	server, err := pgserver.Start(limited, pgserver.Options{Ephemeral: true, Unsafe: true, NoFetch: true})
	var missing *pgserver.NotFoundError
	switch {
	case errors.As(err, &missing):
		return warn(name, "initdb and postgres are not installed: serve tries to fetch them from the network", "install the package postgresql, or give serve a --database-url")
	case err != nil:
		return bad(name, err.Error(), "mend what it says, or give serve a --database-url")
	}
	version := server.Version()
	if err := server.Stop(limited); err != nil {
		return warn(name, err.Error(), "end the process")
	}
	return good(name, fmt.Sprintf("version %d: a private server starts and stops", version))
}

func examineURL(ctx context.Context, name, url string) finding {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return bad(name, err.Error(), "correct --database-url or PATCHD_DATABASE_URL")
	}
	defer func() { _ = conn.Close(ctx) }()
	var version string
	if err := conn.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return bad(name, err.Error(), "correct --database-url or PATCHD_DATABASE_URL")
	}
	return good(name, "the database given answers, version "+version)
}

// examineSandbox tries each way of confining a check.
func (a *app) examineSandbox(ctx context.Context) finding {
	const name = "sandbox"
	only := []sandbox.Level{sandbox.Bubblewrap, sandbox.Namespaces, sandbox.Landlock}
	found, err := sandbox.Probe(ctx, sandbox.Options{Self: []string{a.self, modeSandbox}, Only: only})
	if err != nil {
		return warn(name, err.Error(), "run checks unconfined only for code that you trust: serve --allow-unsandboxed-checks")
	}
	best, ok := found.Best()
	if !ok {
		return warn(name, (&sandbox.RefusedError{Capabilities: found}).Error(), "install the package bubblewrap; patches without checks are decided all the same")
	}
	if best != sandbox.Bubblewrap {
		return warn(name, best.Describe(), "install the package bubblewrap for the strongest confinement")
	}
	return good(name, best.Describe())
}

// examineDataDir looks at the place for state, and for a daemon that uses it.
func (a *app) examineDataDir(ctx context.Context) finding {
	const name = "data directory"
	dir, err := a.needDataDir()
	if err != nil {
		return bad(name, err.Error(), "give --data-dir DIR or set PATCHD_DATA_DIR")
	}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return good(name, dir+" will be made by serve")
	}
	if err != nil || !info.IsDir() {
		return bad(name, dir+" is not a directory that can be read", "give another --data-dir")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return warn(name, fmt.Sprintf("%s can be entered by others (mode %04o)", dir, info.Mode().Perm()), "chmod 700 "+dir+"; serve does it, too")
	}
	if _, err := os.Stat(filepath.Join(dir, daemonFile)); err != nil {
		return good(name, dir+", no daemon runs")
	}
	return a.examineDaemon(ctx, name, dir)
}

func (a *app) examineDaemon(ctx context.Context, name, dir string) finding {
	start := "start it again: patchd serve --repo DIR; it finishes what was under way"
	c, err := a.connect(0)
	if err != nil {
		return bad(name, err.Error(), start)
	}
	defer c.Close()
	if err := c.Ready(ctx); err != nil {
		return warn(name, "the daemon of "+dir+" does not answer: "+err.Error(), start)
	}
	if _, err := c.Targets(ctx); err != nil {
		return bad(name, "the daemon refuses the token: "+err.Error(), "use the token in "+filepath.Join(dir, tokenFile))
	}
	return good(name, dir+", its daemon is ready at "+c.Server())
}
