// Command patchd coordinates patches: it decides each against a guarded branch as a pure function of recorded inputs, and
// keeps the record. This package holds flags, wiring and exit statuses; a file per command, no rules of the protocol.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], processEnvironment()))
}

// environment is what the process gives the program; commands take it from here and nowhere else.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         func(name string) (string, bool)
	environ        func() []string
	clock          func() time.Time
	self           string // this program's own file, for the processes that it starts of itself
	dir            string // the working directory
}

func processEnvironment() environment {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	return environment{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, os.Environ, time.Now, self, dir}
}

// run parses one command line, runs it and gives the exit status. A first SIGINT or SIGTERM ends the command in good order,
// a second one ends the process.
func run(ctx context.Context, args []string, env environment) (status int) {
	if len(args) > 0 {
		if mode := hiddenMode(args[0]); mode != nil {
			return mode(args[1:], env)
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	var grammar cli
	parser, err := newParser(&grammar, env)
	if err != nil {
		return report(&app{environment: env, globals: &grammar.globals}, err)
	}
	defer func() {
		if v := recover(); v != nil {
			helped, ok := v.(helpShown)
			if !ok {
				panic(v)
			}
			status = int(helped)
		}
	}()
	parsed, err := parser.Parse(args)
	a := &app{environment: env, globals: &grammar.globals}
	if err != nil {
		a.JSON = a.JSON || wantsJSON(args)
		return report(a, usage(err, "see patchd --help, or patchd COMMAND --help"))
	}
	a.log = a.newLogger(parsed.Command())
	parsed.BindTo(ctx, (*context.Context)(nil))
	return report(a, parsed.Run(a))
}

// wantsJSON finds the flag on a command line that could not be parsed.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--json" {
			return true
		}
	}
	return false
}

// helpShown leaves the parser after --help, which must not end the process from within.
type helpShown int

func newParser(grammar *cli, env environment) (*kong.Kong, error) {
	return kong.New(grammar,
		kong.Name("patchd"),
		kong.Description("Decide patches against a guarded branch: a candidate commit or a conflict record, the same on every machine and in every order."),
		kong.Writers(env.stdout, env.stderr),
		kong.Exit(func(code int) { panic(helpShown(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 120}),
		kong.Vars{"datadir": defaultDataDir(env.lookup)},
	)
}

// report prints an error once and gives the exit status.
func report(a *app, err error) int {
	if err == nil {
		return exitDone
	}
	var status *statusError
	if errors.As(err, &status) && status.err == nil {
		return status.code
	}
	a.printError(err)
	return exitStatus(err)
}
