package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"patchd/cmd/patchd-bench/internal/history"
	"patchd/cmd/patchd-bench/internal/measure"
)

type memoryCmd struct {
	Repo     string  `arg:"" type:"existingdir" help:"The repository whose history gives the patches."`
	N        int     `name:"n" default:"5000" help:"How many decisions."`
	Patches  int     `default:"400" help:"How many different changes; each decision is a patch of its own, with a title of its own."`
	Every    int     `default:"500" help:"How often the memory is read."`
	Tolerate float64 `default:"1.15" help:"How many times the memory after the first fifth the memory at the end may be."`
}

// memoryPoint is the memory after so many decisions.
type memoryPoint struct {
	Decisions int            `json:"decisions"`
	Own       measure.Memory `json:"own"`
	Children  measure.Memory `json:"children"`
}

// memoryDocument is the whole answer.
type memoryDocument struct {
	Repo   string        `json:"repo"`
	Points []memoryPoint `json:"points"`
	Growth float64       `json:"growth"` // resident memory at the end as a multiple of that after the first fifth
}

// Run decides patches over and over and reads the memory.
func (m *memoryCmd) Run(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, m.Repo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	b.say("%s: looking for patches", s.Name)
	var picks []history.Pick
	for _, shared := range []bool{true, false} {
		found, err := history.Picks(ctx, s.Scratch, s.repo, history.PickOptions{N: m.Patches / 2, MinEdits: 1, MaxEdits: 40, Window: 20, Scan: 4000, Shared: shared})
		if err != nil {
			return err
		}
		picks = append(picks, found...)
	}
	if len(picks) == 0 {
		return errors.New("the history gives no patches")
	}
	doc := &memoryDocument{Repo: s.Name}
	b.say("%s: %d decisions of %d changes", s.Name, m.N, len(picks))
	for i := range m.N {
		if err := m.decide(ctx, s, picks[i%len(picks)], i); err != nil {
			return err
		}
		if (i+1)%m.Every == 0 {
			if err := doc.read(i + 1); err != nil {
				return err
			}
		}
	}
	return m.conclude(b, doc)
}

func (m *memoryCmd) decide(ctx context.Context, s *stand, p history.Pick, i int) error {
	raw, err := manifest(p.Base, p.Paths, p.Diff, fmt.Sprintf("decision-%d", i), "")
	if err != nil {
		return err
	}
	_, _, err = s.decideTrial(ctx, &trial{p, raw})
	return err
}

func (doc *memoryDocument) read(decisions int) error {
	own, err := measure.MemoryOf(os.Getpid())
	if err != nil {
		return err
	}
	children, err := measure.MemoryOfChildren(os.Getpid())
	doc.Points = append(doc.Points, memoryPoint{decisions, own, children})
	return err
}

// conclude prints the readings, and fails where memory grew.
func (m *memoryCmd) conclude(b *bench, doc *memoryDocument) error {
	if len(doc.Points) < 2 {
		return errors.New("too few decisions to tell: raise --n or lower --every")
	}
	settled, last := doc.Points[len(doc.Points)/5], doc.Points[len(doc.Points)-1]
	doc.Growth = float64(last.Own.Resident+last.Children.Resident) / float64(settled.Own.Resident+settled.Children.Resident)
	err := b.emit(doc, func(w io.Writer) {
		rows := [][]string{{"decisions", "resident", "peak", "resident of children"}}
		for _, p := range doc.Points {
			rows = append(rows, []string{strconv.Itoa(p.Decisions), mib(p.Own.Resident), mib(p.Own.Peak), mib(p.Children.Resident)})
		}
		table(w, rows)
		line(w, "%s: at the end %.2f times the memory after the first fifth", doc.Repo, doc.Growth)
	})
	if err == nil && doc.Growth > m.Tolerate {
		return fmt.Errorf("memory grew %.2f times, more than %.2f", doc.Growth, m.Tolerate)
	}
	return err
}
