package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec" //nolint:depguard // the program under measurement is run as a process
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"patchd/coordinator/api/client"
)

// Daemon is a running "patchd serve". It is not safe for concurrent use.
type Daemon struct {
	cmd     *exec.Cmd
	dataDir string
	socket  string
	log     *tail
	drained sync.WaitGroup
}

// Serve starts the daemon of a data directory and waits until it is ready. It outlives ctx: Kill or Stop end it.
func (p Program) Serve(ctx context.Context, dataDir, repo, databaseURL string) (*Daemon, error) {
	d := &Daemon{dataDir: dataDir, log: &tail{}}
	d.cmd = exec.CommandContext(context.WithoutCancel(ctx), p.file, "serve", "--json", "--data-dir", dataDir, "--repo", repo, "--database-url", databaseURL) //nolint:gosec // as above
	d.cmd.Env, d.cmd.Stderr = p.env, d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open daemon's output: %w", err)
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start daemon: %w", err)
	}
	var info struct {
		Socket string `json:"socket"`
	}
	reader := bufio.NewReader(out)
	if err := json.NewDecoder(reader).Decode(&info); err != nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		return nil, fmt.Errorf("the daemon did not get ready: %w: %s", err, d.log)
	}
	d.socket = info.Socket
	d.drained.Go(func() { _, _ = io.Copy(io.Discard, reader) })
	return d, nil
}

// patience is how long clients repeat requests while nobody answers.
const patience = 30 * time.Second

// Log is the end of what the daemon said.
func (d *Daemon) Log() string { return d.log.String() }

// PID is the daemon's process id.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Client makes a client with the daemon's own token.
func (d *Daemon) Client() (*client.Client, error) {
	token, err := os.ReadFile(filepath.Join(d.dataDir, "token"))
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	return client.New(client.Options{Server: "unix:" + d.socket, Token: strings.TrimSpace(string(token)), Patience: patience})
}

// Kill ends the daemon as kill -9 does.
func (d *Daemon) Kill() error {
	err := d.cmd.Process.Signal(syscall.SIGKILL)
	d.drained.Wait()
	_ = d.cmd.Wait() // says that it was killed
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill daemon: %w", err)
	}
	return nil
}

// Stop has the daemon end in good order.
func (d *Daemon) Stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop daemon: %w", err)
	}
	d.drained.Wait()
	if err := d.cmd.Wait(); err != nil {
		return fmt.Errorf("stop daemon: %w: %s", err, d.log)
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const tailBytes = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	t.data = t.data[max(0, len(t.data)-tailBytes):]
	return len(p), nil
}

// String is what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.data))
}
