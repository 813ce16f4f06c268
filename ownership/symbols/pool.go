package symbols

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec" //nolint:depguard // a parser can kill its process, so it gets one of its own
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a Pool. Zero values take the defaults.
type Options struct {
	// Command starts a child that runs ServeChild. It is required.
	Command []string
	// Workers is the number of children, by default 2.
	Workers int
	// MemoryBytes is what a child may allocate, by default 1 GiB.
	MemoryBytes uint64
	// Timeout is what one file may take before its child is killed, by default 15 seconds.
	Timeout time.Duration
	// MaxBytes is the size above which a file is not parsed, by default DefaultMaxBytes.
	MaxBytes int
	// CacheBytes bounds the cache of outlines, by default 256 MiB.
	CacheBytes int
}

const (
	defaultWorkers    = 2
	defaultMemory     = 1 << 30
	defaultTimeout    = 15 * time.Second
	defaultCacheBytes = 256 << 20
	// retireAfter is the number of files after which a child is replaced, so that no leak can grow.
	retireAfter = 10_000
	// batchBytes bounds the text in one request, and partBytes is how little is not worth another child.
	batchBytes = 16 << 20
	partBytes  = 4 << 10
)

// ErrClosed is the error of a pool that was closed.
var ErrClosed = errors.New("outline pool is closed")

// Pool outlines files in child processes. A child that dies or takes too long costs only the file that it was
// working on, whose result is WhyParseFailed. No child is started before a file needs one. It is safe for
// concurrent use.
type Pool struct {
	opt       Options
	languages *Languages
	cache     *cache
	slots     chan *worker
	closing   chan struct{}
	closed    sync.Once
	started   atomic.Int64
}

var _ Outliner = (*Pool)(nil)

// NewPool gives a pool; Close must be called when it is not needed any more.
func NewPool(opt Options) *Pool {
	if opt.Workers <= 0 {
		opt.Workers = defaultWorkers
	}
	if opt.MemoryBytes == 0 {
		opt.MemoryBytes = defaultMemory
	}
	if opt.Timeout <= 0 {
		opt.Timeout = defaultTimeout
	}
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = DefaultMaxBytes
	}
	if opt.CacheBytes <= 0 {
		opt.CacheBytes = defaultCacheBytes
	}
	p := &Pool{
		opt: opt, languages: NewLanguages(), cache: newCache(opt.CacheBytes),
		slots: make(chan *worker, opt.Workers), closing: make(chan struct{}),
	}
	for range opt.Workers {
		p.slots <- &worker{pool: p}
	}
	return p
}

// Started gives the number of children started so far.
func (p *Pool) Started() int64 { return p.started.Load() }

// Close ends the children and waits for them and for calls that are under way.
func (p *Pool) Close() error {
	p.closed.Do(func() {
		close(p.closing)
		for range p.opt.Workers {
			(<-p.slots).stop()
		}
	})
	return nil
}

// Outline outlines one file.
func (p *Pool) Outline(ctx context.Context, f Request) (Result, error) {
	results, err := p.Outlines(ctx, []Request{f})
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

// Outlines implements Outliner. Files without a grammar, too large or not text need no child; others come from the
// cache or are spread over the children.
func (p *Pool) Outlines(ctx context.Context, files []Request) ([]Result, error) {
	results := make([]Result, len(files))
	var due []int
	for i, f := range files {
		if why := refuse(p.languages, p.opt.MaxBytes, f); why != "" {
			results[i] = Result{Why: why}
		} else if r, ok := p.cache.get(p.key(f)); ok {
			results[i] = r
		} else {
			due = append(due, i)
		}
	}
	if len(due) == 0 {
		return results, nil
	}
	batches := p.batches(files, due)
	errs := make([]error, len(batches))
	var wait sync.WaitGroup
	for b, batch := range batches {
		wait.Go(func() { errs[b] = p.run(ctx, files, batch, results) })
	}
	wait.Wait()
	return results, errors.Join(errs...)
}

func (p *Pool) key(f Request) cacheKey { return cacheKey{f.Blob, p.languages.Version(f.Path)} }

// batches spreads the files over the children so that each has about as much text, little text in one message.
func (p *Pool) batches(files []Request, due []int) [][]int {
	total := 0
	for _, k := range due {
		total += len(files[k].Text)
	}
	order := slices.Clone(due)
	slices.SortStableFunc(order, func(a, b int) int { return len(files[b].Text) - len(files[a].Text) })
	parts := make([][]int, min(p.opt.Workers, 1+total/partBytes))
	sizes := make([]int, len(parts))
	var full [][]int
	for _, k := range order {
		at := 0
		for i, size := range sizes {
			if size < sizes[at] {
				at = i
			}
		}
		if sizes[at] > 0 && sizes[at]+len(files[k].Text) > batchBytes {
			full, parts[at], sizes[at] = append(full, parts[at]), nil, 0
		}
		parts[at] = append(parts[at], k)
		sizes[at] += len(files[k].Text)
	}
	return append(full, slices.DeleteFunc(parts, func(part []int) bool { return len(part) == 0 })...)
}

// run has one child do a batch.
func (p *Pool) run(ctx context.Context, files []Request, batch []int, results []Result) error {
	var w *worker
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closing:
		return ErrClosed
	case w = <-p.slots:
	}
	defer func() { p.slots <- w }()
	retried := -1
	for len(batch) > 0 {
		done, err := w.outline(ctx, files, batch, results)
		for _, k := range batch[:done] {
			p.cache.put(p.key(files[k]), results[k])
		}
		batch = batch[done:]
		if err != nil && !errors.Is(err, errChildDied) {
			return err
		}
		if len(batch) == 0 || err == nil {
			continue
		}
		if k := batch[0]; retried == k || errors.Is(err, errChildSlow) {
			results[k] = Result{Why: WhyParseFailed}
			p.cache.put(p.key(files[k]), results[k])
			batch = batch[1:]
		} else {
			retried = k // once more in a fresh child, in case that others had filled its memory
		}
	}
	return nil
}

var (
	errChildDied = errors.New("outline child died")
	errNotChild  = errors.New("its answer is not that of an outline child")
	errChildSlow = fmt.Errorf("%w: it took too long", errChildDied)
)

// worker is a place for one child. Whoever holds it is alone with it.
type worker struct {
	pool  *Pool
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	files int
}

// outline sends the batch and reads results until the batch is done, the child dies or the context ends. It gives
// how many results it has.
func (w *worker) outline(ctx context.Context, files []Request, batch []int, results []Result) (int, error) {
	if err := w.start(); err != nil {
		return 0, err
	}
	kill := w.cmd.Process.Kill
	defer context.AfterFunc(ctx, func() { _ = kill() })()
	var slow atomic.Bool
	timer := time.AfterFunc(w.pool.opt.Timeout, func() { slow.Store(true); _ = kill() })
	defer timer.Stop()
	request := make([]Request, len(batch))
	for i, k := range batch {
		request[i] = files[k]
	}
	if err := writeFrame(w.in, encodeRequest(request)); err != nil {
		return 0, w.died(ctx, &slow)
	}
	for done, k := range batch {
		b, err := readFrame(w.out)
		if err != nil {
			return done, w.died(ctx, &slow)
		}
		if results[k], err = decodeResult(b); err != nil {
			return done, w.died(ctx, &slow)
		}
		timer.Reset(w.pool.opt.Timeout)
	}
	if w.files += len(batch); w.files > retireAfter || slow.Load() || ctx.Err() != nil {
		w.stop()
	}
	return len(batch), nil
}

// died cleans up after a child and says whether the context, the time or the child itself is to blame.
func (w *worker) died(ctx context.Context, slow *atomic.Bool) error {
	w.stop()
	if err := ctx.Err(); err != nil {
		return err
	}
	if slow.Load() {
		return errChildSlow
	}
	return errChildDied
}

// start makes sure that a child runs and has answered. A program that is no outline child is an error.
func (w *worker) start() error {
	if w.cmd != nil {
		return nil
	}
	cmd := exec.Command(w.pool.opt.Command[0], w.pool.opt.Command[1:]...) //nolint:gosec,noctx // patchd itself; it outlives the call
	cmd.Env = []string{"GOTRACEBACK=none", "GOMAXPROCS=2", "GOGC=400"}
	cmd.SysProcAttr = childAttributes()
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("open child's input: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open child's output: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start outline child: %w", err)
	}
	w.cmd, w.in, w.out, w.files = cmd, in, bufio.NewReader(out), 0
	w.pool.started.Add(1)
	return w.greet()
}

func (w *worker) greet() error {
	timer := time.AfterFunc(w.pool.opt.Timeout, func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	e := &encoder{}
	e.uint(w.pool.opt.MemoryBytes)
	e.int(w.pool.opt.MaxBytes)
	err := writeFrame(w.in, e.b)
	var answer []byte
	if err == nil {
		answer, err = readFrame(w.out)
	}
	if err == nil && string(answer) != greeting {
		err = errNotChild
	}
	if err != nil {
		w.stop()
		return fmt.Errorf("greet outline child %q: %w", w.pool.opt.Command, err)
	}
	return nil
}

// stop kills the child, if there is one, and waits for it.
func (w *worker) stop() {
	if w.cmd == nil {
		return
	}
	_ = w.in.Close()
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	w.cmd, w.in, w.out = nil, nil, nil
}
