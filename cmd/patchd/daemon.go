package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"patchd/coordinator/api"
	"patchd/coordinator/ledger/pgserver"
	"patchd/coordinator/service"
	"patchd/coordinator/service/webhook"
	"patchd/ownership/symbols"
)

// stopTime is what a daemon gets to stop in good order; requests and jobs that need longer are cut off, and done again by
// the next start.
const stopTime = 20 * time.Second

// daemon is what serve and demo run: a database, the service, and the face on its listeners.
type daemon struct {
	app              *app
	dir              string
	repos            []service.RepoConfig
	databaseURL      string // empty: a private server
	listen           string
	hosts            []string
	workers          int
	checkWorkers     int
	allowUnsandboxed bool
	webhook          webhook.Config
	ephemeral        bool // the private server dies with this process and leaves nothing: durability would be lost on it
}

// run serves until ctx ends and then stops in good order. It calls ready once requests are answered.
func (d daemon) run(ctx context.Context, ready func(daemonInfo) error) (err error) {
	home, err := lockDataDir(d.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.release()) }()

	url, stopDatabase, err := d.database(ctx, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopDatabase()) }()

	outlines := symbols.NewPool(symbols.Options{Command: []string{d.app.self, modeOutline}})
	defer func() { err = errors.Join(err, outlines.Close()) }()

	svc, err := service.Open(ctx, d.config(home, url, outlines))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close()) }() //nolint:contextcheck // what is let go of must be, whatever ended
	if err := ensureToken(ctx, home, svc); err != nil {
		return err
	}
	return d.serve(ctx, home, svc, ready)
}

// database is the one given, or a private server in the data directory.
func (d daemon) database(ctx context.Context, home *dataDir) (url string, stop func() error, err error) {
	if d.databaseURL != "" {
		return d.databaseURL, func() error { return nil }, nil
	}
	server, err := pgserver.Start(ctx, pgserver.Options{DataDir: home.file("postgres"), Logger: d.app.log, Ephemeral: d.ephemeral, Unsafe: d.ephemeral})
	if err != nil {
		return "", nil, err
	}
	stop = func() error {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		return server.Stop(limited)
	}
	if url, err = server.EnsureDatabase(ctx, "patchd"); err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return url, stop, nil
}

func (d daemon) config(home *dataDir, url string, outlines symbols.Outliner) service.Config {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return service.Config{
		DatabaseURL: url, Repos: d.repos, DataDir: home.path, Version: release, Host: host, Logger: d.app.log, Clock: d.app.clock,
		Outlines: outlines, SandboxCommand: []string{d.app.self, modeSandbox}, CheckMounts: d.app.checkMounts(), AllowUnsandboxed: d.allowUnsandboxed,
		Workers: d.workers, CheckWorkers: d.checkWorkers, CheckEnv: d.app.lookup,
		UserEnv: d.app.environ(), Webhook: d.webhook,
	}
}

// ensureToken has the database know the token of the data directory, which is made where there is none: it has every right.
func ensureToken(ctx context.Context, home *dataDir, svc *service.Service) error {
	token, err := readToken(home.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && token == "":
		token = "patchd_" + rand.Text() + rand.Text()
		if err := writeFile(home.file(tokenFile), []byte(token+"\n")); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if err := os.Chmod(home.file(tokenFile), 0o600); err != nil {
		return fmt.Errorf("protect token: %w", err)
	}
	if _, err := svc.PutCredential(ctx, "local", service.Scopes(), token); err != nil {
		return fmt.Errorf("record own token: %w", err)
	}
	return nil
}

// serve runs service and face until ctx ends or one of them fails.
func (d daemon) serve(ctx context.Context, home *dataDir, svc *service.Service, ready func(daemonInfo) error) error {
	listeners, info, err := d.listeners(ctx, home)
	if err != nil {
		return err
	}
	defer closeListeners(listeners, info.Socket, home)

	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := svc.Metrics(metrics); err != nil {
		return err
	}
	handler := api.New(api.Options{ //nolint:contextcheck // each request brings its own
		Service: svc, Logger: d.app.log, Clock: d.app.clock, Version: release, Hosts: d.hosts, Metrics: metrics,
	})

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return svc.Run(ctx) })
	for _, l := range listeners {
		server := &http.Server{
			Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
			BaseContext: func(net.Listener) context.Context { return ctx }, // streams and long polls end with the daemon
		}
		group.Go(func() error { return serveUntil(ctx, server, l) })
	}
	group.Go(func() error {
		if err := waitReady(ctx, svc); err != nil {
			return nil //nolint:nilerr // the daemon was stopped before it was ready: that is no failure
		}
		info.StartedAt = d.app.clock().UTC()
		if err := home.announce(info); err != nil {
			return err
		}
		return ready(info)
	})
	return group.Wait()
}

// serveUntil answers requests until ctx ends, and then those that are under way.
func serveUntil(ctx context.Context, server *http.Server, l net.Listener) error {
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := server.Shutdown(limited)
	if err != nil {
		err = server.Close()
	}
	<-done
	return err
}

// waitReady asks until the service is ready.
func waitReady(ctx context.Context, svc *service.Service) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for svc.Ready(ctx) != nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// listeners opens the unix socket and, where wanted, a TCP port.
func (d daemon) listeners(ctx context.Context, home *dataDir) ([]net.Listener, daemonInfo, error) {
	info := daemonInfo{PID: os.Getpid(), DataDir: home.path, Version: release}
	var err error
	if info.Socket, err = socketPath(home); err != nil {
		return nil, info, err
	}
	config := net.ListenConfig{}
	unix, err := config.Listen(ctx, "unix", info.Socket)
	if err != nil {
		return nil, info, fmt.Errorf("listen on socket: %w", err)
	}
	if err := os.Chmod(info.Socket, 0o600); err != nil {
		return nil, info, errors.Join(fmt.Errorf("protect socket: %w", err), unix.Close())
	}
	if d.listen == "" {
		return []net.Listener{unix}, info, nil
	}
	tcp, err := config.Listen(ctx, "tcp", d.listen)
	if err != nil {
		return nil, info, errors.Join(&statusError{exitFailed, fmt.Errorf("listen on %s: %w", d.listen, err), "give another --listen"}, unix.Close())
	}
	info.URL = "http://" + tcp.Addr().String()
	return []net.Listener{unix, tcp}, info, nil
}

// socketPath is in the data directory, or in a private directory under the temporary one where that path is too long.
// Whatever lies there belongs to a daemon that died: this one holds the lock.
func socketPath(home *dataDir) (string, error) {
	path := home.file(socketFile)
	if len(path) > maxSocketPath {
		dir, err := os.MkdirTemp("", "patchd-")
		if err != nil {
			return "", fmt.Errorf("make socket directory: %w", err)
		}
		path = filepath.Join(dir, socketFile)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("remove old socket: %w", err)
	}
	return path, nil
}

func closeListeners(listeners []net.Listener, socket string, home *dataDir) {
	for _, l := range listeners {
		_ = l.Close() // the servers closed them already, unless they never began
	}
	if dir := filepath.Dir(socket); dir != home.path {
		_ = os.RemoveAll(dir)
	}
}
