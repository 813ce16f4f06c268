package main

import (
	"context"
	"errors"
	"fmt"

	"patchd/coordinator"
	"patchd/coordinator/api"
	"patchd/coordinator/service"
)

// The exit statuses of the contract.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitWaiting  = 3 // rejected or waiting
	exitConflict = 4
	exitTimeout  = 5
)

// statusError ends the program with a status. Without an error of its own everything was said already.
type statusError struct {
	code int
	err  error
	hint string
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	if e.hint != "" {
		return e.err.Error() + " (" + e.hint + ")"
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// usage is an error in how the program was called.
func usage(err error, hint string) error { return &statusError{exitUsage, err, hint} }

func usagef(hint, format string, args ...any) error { return usage(fmt.Errorf(format, args...), hint) }

// outcomeStatus ends with the status that an outcome has.
func outcomeStatus(o coordinator.Outcome) error {
	switch o {
	case coordinator.OutcomeCandidate:
		return nil
	case coordinator.OutcomeConflict:
		return &statusError{code: exitConflict}
	case coordinator.OutcomeWaiting, coordinator.OutcomeRejected:
		return &statusError{code: exitWaiting}
	}
	return fmt.Errorf("outcome %q is unknown", o)
}

// exitStatus is the status of an error that was printed.
func exitStatus(err error) int {
	var status *statusError
	var problem *api.Problem
	switch {
	case errors.As(err, &status):
		return status.code
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case errors.As(err, &problem) && (problem.Code == string(service.ErrInvalid) || problem.Code == string(service.ErrAmbiguous)):
		return exitUsage
	}
	return exitFailed
}
