// Command patchd-bench measures patchd on real repositories: whether decisions agree with git's own merges, how long they
// take beside what a user's script would do, what memory they hold, and what the daemon survives. It decides nothing itself;
// it calls the engine and the patchd program and counts. Repositories are only read: all work is done in scratch directories.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"patchd/ownership/symbols"
)

// modeOutline is the mode in which the program starts itself to parse files, because a parser may kill its process.
const modeOutline = "outline-worker"

// cli is the whole grammar.
type cli struct {
	JSON    bool   `name:"json" help:"Print one JSON document on stdout instead of tables."`
	Scratch string `placeholder:"DIR" type:"path" help:"Where scratch repositories are made; default: the system's temporary directory."`

	Merges     mergesCmd     `cmd:"" help:"Decide real merges and hold every candidate against git's own merge."`
	Decide     decideCmd     `cmd:"" help:"Time decisions beside worktree add, apply --3way, commit, worktree remove."`
	Memory     memoryCmd     `cmd:"" help:"Watch the memory over thousands of decisions."`
	Latency    latencyCmd    `cmd:"" help:"Time submissions through the daemon beside a River job that does nothing."`
	Storm      stormCmd      `cmd:"" help:"Submit from many processes while daemon and PostgreSQL are killed, and look for what was lost."`
	Windows    windowsCmd    `cmd:"" help:"Count how often consecutive real commits would contend if they were pending at once."`
	Replan     replanCmd     `cmd:"" help:"Time the state of many pending patches when the target moves."`
	Throughput throughputCmd `cmd:"" help:"Count decisions and landings a second beside a script of git commands."`
}

// bench is what every command works with.
type bench struct {
	stdout, stderr io.Writer
	clock          func() time.Time
	self           string // this program's own file
	searchPath     string
	scratch        string // a directory of this run alone
	json           bool
}

func main() { os.Exit(run()) }

func run() int {
	if len(os.Args) > 1 && os.Args[1] == modeOutline {
		if err := symbols.ServeChild(os.Stdin, os.Stdout); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "patchd-bench:", err)
			return 1
		}
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var grammar cli
	parsed := kong.Parse(&grammar, kong.Name("patchd-bench"), kong.UsageOnError(),
		kong.Description("Measure patchd on real repositories. They are only read."))
	if err := start(ctx, &grammar, parsed); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "patchd-bench:", err)
		return 1
	}
	return 0
}

// start makes the scratch directory, runs the command and removes the directory again.
func start(ctx context.Context, grammar *cli, parsed *kong.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	dir, err := os.MkdirTemp(grammar.Scratch, "patchd-bench-")
	if err != nil {
		return fmt.Errorf("make scratch directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{os.Stdout, os.Stderr, time.Now, self, os.Getenv("PATH"), dir, grammar.JSON}
	parsed.BindTo(ctx, (*context.Context)(nil))
	return parsed.Run(b)
}
