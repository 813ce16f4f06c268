package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

var errClosed = errors.New("repository is closed")

type catFileOptions struct {
	binary    string
	dir       string
	env       []string
	processes int
	started   *atomic.Int64
	limit     int64 // bytes of one object
}

// catFile is a pool of long-lived "git cat-file --batch-command" processes. A request has a process to itself; a
// process in doubt (cancelled, broken pipe, unexpected answer) is killed, and its successor asked once more.
type catFile struct {
	opt   catFileOptions
	slots chan *catProcess // nil: not started
	done  chan struct{}
	once  sync.Once
}

type catProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *boundedBuffer
}

type catAnswer struct {
	kind ObjectType
	size int64
	data []byte
}

func newCatFile(opt catFileOptions) *catFile {
	c := &catFile{opt: opt, slots: make(chan *catProcess, opt.processes), done: make(chan struct{})}
	for range opt.processes {
		c.slots <- nil
	}
	return c
}

// ask sends "info" or "contents" for one object.
func (c *catFile) ask(ctx context.Context, verb string, id OID) (catAnswer, error) {
	if !id.Valid() {
		return catAnswer{}, fmt.Errorf("read object %q: not a full object id", string(id))
	}
	var process *catProcess
	select {
	case process = <-c.slots:
	case <-c.done:
		return catAnswer{}, errClosed
	case <-ctx.Done():
		return catAnswer{}, fmt.Errorf("read object %s: %w", id, ctx.Err())
	}
	answer, process, err := c.askTwice(ctx, process, verb, id)
	c.slots <- process
	return answer, err
}

// askTwice gives back the process that may serve the next request, or nil.
func (c *catFile) askTwice(ctx context.Context, p *catProcess, verb string, id OID) (catAnswer, *catProcess, error) {
	for attempt := 0; ; attempt++ {
		if ctx.Err() != nil {
			return catAnswer{}, p, fmt.Errorf("read object %s: %w", id, ctx.Err())
		}
		if p == nil {
			var err error
			if p, err = c.start(); err != nil {
				return catAnswer{}, nil, err
			}
		}
		answer, err := p.ask(ctx, verb, id, c.opt.limit)
		var missing *MissingError
		var tooLarge *LimitError
		if err == nil || errors.As(err, &missing) {
			return answer, p, err
		}
		reason := p.kill()
		p = nil
		if ctx.Err() != nil {
			return catAnswer{}, nil, fmt.Errorf("read object %s: %w", id, ctx.Err())
		}
		if errors.As(err, &tooLarge) {
			return catAnswer{}, nil, err
		}
		if attempt > 0 {
			return catAnswer{}, nil, fmt.Errorf("read object %s: %w %s", id, err, reason)
		}
	}
}

func (c *catFile) start() (*catProcess, error) {
	cmd := exec.Command(c.opt.binary, "cat-file", "--batch-command") //nolint:gosec,noctx // lives as long as the pool, not one request
	cmd.Dir, cmd.Env = c.opt.dir, c.opt.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &catProcess{cmd: cmd, stderr: &boundedBuffer{limit: maxStderrBytes}}
	cmd.Stderr = p.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start git cat-file: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start git cat-file: %w", err)
	}
	c.opt.started.Add(1)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git cat-file: %w", err)
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 64<<10)
	return p, nil
}

// ask runs one exchange. The process is killed when the context ends meanwhile, so that no answer is ever left over.
func (p *catProcess) ask(ctx context.Context, verb string, id OID, limit int64) (catAnswer, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	answer, err := p.exchange(verb, id, limit)
	if !stop() && err == nil {
		return catAnswer{}, ctx.Err()
	}
	return answer, err
}

func (p *catProcess) exchange(verb string, id OID, limit int64) (catAnswer, error) {
	if _, err := io.WriteString(p.in, verb+" "+string(id)+"\n"); err != nil {
		return catAnswer{}, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return catAnswer{}, err
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == "missing" {
		return catAnswer{}, &MissingError{OID: id}
	}
	if len(fields) != 3 || fields[0] != string(id) {
		return catAnswer{}, fmt.Errorf("unexpected answer %q", line)
	}
	answer := catAnswer{kind: ObjectType(fields[1])}
	if answer.size, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
		return catAnswer{}, fmt.Errorf("unexpected answer %q", line)
	}
	if verb == "info" {
		return answer, nil
	}
	if answer.size > limit {
		return catAnswer{}, &LimitError{OID: id, Size: answer.size, Limit: limit}
	}
	answer.data = make([]byte, answer.size+1)
	if _, err := io.ReadFull(p.out, answer.data); err != nil {
		return catAnswer{}, err
	}
	answer.data = answer.data[:answer.size:answer.size]
	return answer, nil
}

// kill ends the process and gives what it said on standard error.
func (p *catProcess) kill() string {
	_ = p.cmd.Process.Kill()
	_ = p.in.Close()
	_ = p.cmd.Wait()
	return strings.TrimSpace(p.stderr.kept.String())
}

// close waits for requests under way and ends all processes.
func (c *catFile) close() error {
	c.once.Do(func() {
		close(c.done)
		for range c.opt.processes {
			if p := <-c.slots; p != nil {
				p.kill()
			}
		}
	})
	return nil
}
