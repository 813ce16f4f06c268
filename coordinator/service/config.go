package service

import (
	"log/slog"
	"time"

	"patchd/checks/sandbox"
	"patchd/coordinator/checker"
	"patchd/coordinator/service/webhook"
	"patchd/ownership/symbols"
	"patchd/worktree/git"
)

// RepoConfig is one repository to serve. Name is how the ledger and clients call it; Targets are full branch names.
type RepoConfig struct {
	Name    string
	Dir     string
	Targets []git.Ref
}

// Config wires a service. DatabaseURL, Repos, DataDir and Clock are required.
type Config struct {
	DatabaseURL       string
	Repos             []RepoConfig
	DataDir           string // holds worktrees and scratch space
	Version           string
	Host              string // operational: names the machine in records
	Logger            *slog.Logger
	Clock             func() time.Time
	Outlines          symbols.Outliner // nil: files are judged by their lines
	Runner            *checker.Runner  // runs checks; nil: one is made of the following
	SandboxCommand    []string         // this program's hidden mode that confines a check
	CheckMounts       []sandbox.Mount  // caches and toolchains shown to every check
	AllowUnsandboxed  bool
	Workers           int           // plans worked out at once; 2 where zero
	CheckWorkers      int           // checks run at once; 1 where zero
	PollInterval      time.Duration // how often branches are looked at; 200 ms where zero
	HousekeepInterval time.Duration // how often repositories are put in order; a minute where zero
	CheckEnv          func(name string) (string, bool)
	UserEnv           []string       // the environment in which checkouts of a target follow it; empty: the repository's settings alone
	Webhook           webhook.Config // whom to tell of what happened; nobody where its URL is empty
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Workers == 0 {
		c.Workers = 2
	}
	if c.CheckWorkers == 0 {
		c.CheckWorkers = 1
	}
	if c.PollInterval == 0 {
		c.PollInterval = 200 * time.Millisecond
	}
	if c.HousekeepInterval == 0 {
		c.HousekeepInterval = defaultHousekeep
	}
	if c.CheckEnv == nil {
		c.CheckEnv = func(string) (string, bool) { return "", false }
	}
	return c
}
