package main

import (
	"context"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"patchd/coordinator"
	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// release is the version of this source tree.
const release = "0.1.0"

type versionCmd struct{}

// versions is what took part in a decision that is to be compared with another machine's.
type versions struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Protocol int    `json:"protocol"`
	Diff     int    `json:"diff"`
	Symbols  int    `json:"symbols"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Git      string `json:"git,omitempty"`
}

// Run shows the versions; a machine without git still has the others.
func (*versionCmd) Run(ctx context.Context, a *app) error {
	v := versions{
		Version: release, Revision: revision(), Protocol: coordinator.ProtocolVersion, Diff: diff.DiffVersion, Symbols: coordinator.SymbolsVersion,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Git: gitVersion(ctx),
	}
	return a.emit(v, func(w io.Writer) {
		line(w, "patchd %s%s", v.Version, inParentheses(v.Revision))
		line(w, "protocol %d, line diff %d, symbols %d", v.Protocol, v.Diff, v.Symbols)
		line(w, "git %s, %s, %s", dash(v.Git), v.Go, v.Platform)
	})
}

// revision is the commit that the program was built from, where the build knew it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// gitVersion asks git in an empty repository of ours.
func gitVersion(ctx context.Context) string {
	dir, err := os.MkdirTemp("", "patchd-version-")
	if err != nil {
		return ""
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := makeRepository(dir, "main"); err != nil {
		return ""
	}
	repo, err := git.Open(ctx, dir, git.Options{})
	if err != nil {
		return ""
	}
	defer func() { _ = repo.Close() }()
	return repo.Version()
}
