package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"patchd/coordinator"
	"patchd/coordinator/api"
)

// app is what every command works with.
type app struct {
	environment
	*globals
	log *slog.Logger
}

// newLogger writes to stderr; the daemon tells what it does, other commands only what is wrong.
func (a *app) newLogger(command string) *slog.Logger {
	level := slog.LevelWarn
	if strings.HasPrefix(command, "serve") {
		level = slog.LevelInfo
	}
	if a.LogLevel != "" {
		_ = level.UnmarshalText([]byte(a.LogLevel)) // the grammar allows only names that it knows
	}
	options := &slog.HandlerOptions{Level: level}
	if a.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.stderr, options))
}

// emit prints the one document that --json asks for, or what text writes for people.
func (a *app) emit(document any, text func(w io.Writer)) error {
	if !a.JSON {
		text(a.stdout)
		return nil
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("write document: %w", err)
	}
	return nil
}

// say tells people something on stderr while the work goes on.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, format+"\n", args...) // a closed stderr must not stop the work
}

// path makes a path from the command line absolute.
func (a *app) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.dir, p)
}

// errorDocument is what --json prints where a command failed.
type errorDocument struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
	Value   string `json:"value,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Exit    int    `json:"exit"`
}

// printError tells an error to people, and as a document where one was asked for.
func (a *app) printError(err error) {
	a.say("patchd: %v", err)
	if !a.JSON {
		return
	}
	body := describe(err)
	body.Exit = exitStatus(err)
	if err := a.emit(errorDocument{body}, nil); err != nil {
		a.say("patchd: %v", err)
	}
}

func describe(err error) errorBody {
	var problem *api.Problem
	var refusal *coordinator.Refusal
	var status *statusError
	switch {
	case errors.As(err, &problem):
		return errorBody{Code: problem.Code, Message: problem.Detail, Field: problem.Field, Value: problem.Value, Hint: problem.Hint}
	case errors.As(err, &refusal):
		return errorBody{Code: string(refusal.Code), Message: refusal.Message, Field: refusal.Field, Value: refusal.Value, Hint: refusal.Hint}
	case errors.As(err, &status):
		return errorBody{Code: codeOf(status.code), Message: status.err.Error(), Hint: status.hint}
	}
	return errorBody{Code: codeOf(exitStatus(err)), Message: err.Error()}
}

func codeOf(status int) string {
	switch status {
	case exitUsage:
		return "usage"
	case exitTimeout:
		return "timeout"
	case exitWaiting:
		return "waiting"
	case exitConflict:
		return "conflict"
	}
	return "failed"
}

// table writes aligned columns, the first row being the heads.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = t.Flush()
}

func line(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

// short abbreviates an id for people.
func short[T ~string](id T) string { return string(id[:min(12, len(id))]) }

// dash stands for what is empty in a table.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
