package main

import (
	"errors"
	"io/fs"
	"time"

	"patchd/coordinator/api"
	"patchd/coordinator/api/client"
)

// submitPatience is how long a submission waits for a daemon that is being restarted.
const submitPatience = 30 * time.Second

// connect finds the daemon: by --server, else by the data directory, where the token is too. Requests that may be repeated
// are repeated for as long as patience lasts while nobody answers.
func (a *app) connect(patience time.Duration) (*client.Client, error) {
	options := client.Options{Server: a.Server, Token: a.Token, Patience: patience, Waiting: a.tellWaiting()}
	if a.Server != "" && a.Token != "" {
		return a.newClient(options)
	}
	dir, err := a.needDataDir()
	if err != nil {
		return nil, err
	}
	if options.Server == "" {
		info, err := readDaemonInfo(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &statusError{exitFailed, errors.New("no daemon runs on the data directory " + dir), "start one: patchd serve --repo DIR; or name one: --server, --data-dir"}
		}
		if err != nil {
			return nil, err
		}
		options.Server = "unix:" + info.Socket
	}
	if options.Token == "" {
		if options.Token, err = readToken(dir); err != nil {
			return nil, &statusError{exitFailed, err, "give --token or set PATCHD_TOKEN"}
		}
	}
	return a.newClient(options)
}

func (a *app) newClient(o client.Options) (*client.Client, error) {
	c, err := client.New(o)
	if err != nil {
		return nil, usage(err, "give --server http://HOST:PORT or --server unix:PATH")
	}
	return c, nil
}

// tellWaiting says once that the daemon is away.
func (a *app) tellWaiting() func(error) {
	told := false
	return func(err error) {
		if !told {
			a.say("waiting for the daemon: %v", err)
			told = true
		}
	}
}

// placeFlags say where a command is about.
type placeFlags struct {
	Repo   string `placeholder:"NAME" help:"Repository, where the daemon serves several."`
	Target string `short:"t" placeholder:"BRANCH" help:"Branch, where the repository has several guarded ones."`
}

func (p placeFlags) place() client.Place {
	return client.Place{Repo: p.Repo, Target: api.FullRef(p.Target)}
}
