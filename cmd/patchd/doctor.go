package main

import (
	"context"
	"io"
)

type doctorCmd struct {
	Repo        string `arg:"" optional:"" placeholder:"DIR" help:"The repository; default: that of the working directory."`
	Target      string `short:"t" placeholder:"BRANCH" help:"The branch to be guarded; default: main, or the one that HEAD names."`
	DatabaseURL string `placeholder:"URL" env:"PATCHD_DATABASE_URL" help:"The database that serve will be given, if any."`
}

// Help shows examples.
func (*doctorCmd) Help() string {
	return "Exit status: 0 when nothing stands in the way (warnings may), 1 otherwise.\n\nExamples:\n  patchd doctor\n  patchd doctor ~/src/app --target release --json"
}

// health is how one thing stands.
type health string

const (
	healthOK   health = "ok"
	healthWarn health = "warn"
	healthFail health = "fail"
)

// finding is the answer to one question, and how to mend what is wrong.
type finding struct {
	Name   string `json:"name"`
	Status health `json:"status"`
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"`
}

type doctorDocument struct {
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`
}

func good(name, detail string) finding { return finding{name, healthOK, detail, ""} }

func warn(name, detail, mend string) finding { return finding{name, healthWarn, detail, mend} }

func bad(name, detail, mend string) finding { return finding{name, healthFail, detail, mend} }

// Run examines machine and repository.
func (d *doctorCmd) Run(ctx context.Context, a *app) error {
	doc := doctorDocument{OK: true, Findings: a.examineMachine(ctx, d.DatabaseURL)}
	doc.Findings = append(doc.Findings, d.examineRepository(ctx, a)...)
	for _, f := range doc.Findings {
		doc.OK = doc.OK && f.Status != healthFail
	}
	err := a.emit(doc, func(w io.Writer) {
		for _, f := range doc.Findings {
			line(w, "%-4s  %-16s  %s", f.Status, f.Name, f.Detail)
			if f.Mend != "" {
				line(w, "%-4s  %-16s  to mend it: %s", "", "", f.Mend)
			}
		}
	})
	if err == nil && !doc.OK {
		return &statusError{code: exitFailed}
	}
	return err
}
