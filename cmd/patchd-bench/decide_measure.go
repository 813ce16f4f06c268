package main

import (
	"context"
	"os"
	"time"

	"patchd/cmd/patchd-bench/internal/baseline"
	"patchd/cmd/patchd-bench/internal/measure"
	"patchd/coordinator"
)

// measurement is one kind of patches under measurement.
type measurement struct {
	*bench
	stand  *stand
	script *baseline.Baseline
	report *decideReport
	first  []trial // decided before anything is timed

	cpu, scriptCPU time.Duration // processor time of decisions and scripts
}

// warm decides a few patches with an empty engine and gives what the first one cost, in milliseconds.
func (m *measurement) warm(ctx context.Context) (cold float64, err error) {
	for i := range m.first {
		start := m.clock()
		if _, _, err := m.stand.decideTrial(ctx, &m.first[i]); err != nil {
			return 0, err
		}
		if i == 0 {
			cold = measure.Milliseconds(m.clock().Sub(start))
		}
	}
	return cold, nil
}

// oneByOne times engine and script turn about, each going first half of the time.
func (m *measurement) oneByOne(ctx context.Context, trials []trial, withScript bool) error {
	var decided, kept, scripted, packs measure.Sample
	if err := measure.ResetPeak(os.Getpid()); err != nil {
		m.say("peak memory counts from the program's start: %v", err)
	}
	before := m.readings()
	processes := m.stand.repo.Processes()
	for i := range trials {
		t := &trials[i]
		if withScript && i%2 == 0 {
			took, err := m.byScript(ctx, t)
			if err != nil {
				return err
			}
			scripted = append(scripted, took)
		}
		asked := m.stand.repo.Processes()
		used, start := measure.CPU(), m.clock()
		record, plan, err := m.stand.decideTrial(ctx, t)
		took := m.clock().Sub(start)
		if err != nil {
			return err
		}
		m.cpu += measure.CPU() - used
		m.report.MostProcs = max(m.report.MostProcs, m.stand.repo.Processes()-asked)
		m.count(t, record)
		pack, err := m.keep(ctx, plan)
		if err != nil {
			return err
		}
		decided, kept, packs = append(decided, took), append(kept, took+pack), append(packs, pack)
		if withScript && i%2 == 1 {
			took, err := m.byScript(ctx, t)
			if err != nil {
				return err
			}
			scripted = append(scripted, took)
		}
	}
	r := m.report
	r.Warm, r.Kept, r.Script = decided.Summary(), kept.Summary(), scripted.Summary()
	r.Ratio, r.RatioKept = measure.Ratio(scripted.Median(), decided.Median()), measure.Ratio(scripted.Median(), kept.Median())
	if n := time.Duration(len(scripted)); n > 0 {
		r.WarmCPU, r.ScriptCPU = measure.Milliseconds(m.cpu/time.Duration(len(trials))), measure.Milliseconds(m.scriptCPU/n)
		r.RatioCPU = measure.Ratio(m.scriptCPU/n, m.cpu/time.Duration(len(trials)))
	}
	r.Processes = float64(m.stand.repo.Processes()-processes) / float64(len(trials))
	r.StagesMS = m.readings().since(before, len(trials), decided.Mean())
	r.StagesMS.Pack = measure.Milliseconds(packs.Mean())
	r.Retries = m.script.Retries()
	return m.memory()
}

// keep writes what a candidate needs, as acceptance does.
func (m *measurement) keep(ctx context.Context, plan *coordinator.Plan) (time.Duration, error) {
	if plan.Decision.Outcome != coordinator.OutcomeCandidate {
		return 0, nil
	}
	start := m.clock()
	objects, err := plan.Objects.Reachable(ctx, plan.Decision.Candidate.Commit)
	if err == nil {
		err = m.stand.repo.WritePack(ctx, objects)
	}
	return m.clock().Sub(start), err
}

func (m *measurement) memory() (err error) {
	if m.report.Memory, err = measure.MemoryOf(os.Getpid()); err != nil {
		return err
	}
	m.report.Children, err = measure.MemoryOfChildren(os.Getpid())
	return err
}

func (m *measurement) byScript(ctx context.Context, t *trial) (time.Duration, error) {
	used, start := measure.CPU(), m.clock()
	applied, err := m.script.Decide(ctx, t.Target, t.Diff)
	took := m.clock().Sub(start)
	m.scriptCPU += measure.CPU() - used
	if err == nil && !applied {
		m.report.Failed++
	}
	return took, err
}

func (m *measurement) count(t *trial, d *coordinator.Decision) {
	m.report.Outcomes[string(d.Outcome)]++
	switch {
	case d.Outcome != coordinator.OutcomeCandidate:
	case d.Candidate.Tree == t.Tree:
		m.report.SameTree++
	default:
		m.report.OtherTree++
	}
}

// atOnce times batches of decisions, engine and script turn about as long as the script is wanted.
func (m *measurement) atOnce(ctx context.Context, trials []trial, n, scripts int) error {
	if err := m.stand.renew(ctx, m.bench); err != nil { // the patches were decided before: nothing of that may be remembered
		return err
	}
	if _, err := m.warm(ctx); err != nil {
		return err
	}
	var decided, scripted measure.Sample
	for start := 0; start+n <= len(trials); start += n {
		batch := trials[start : start+n]
		took, err := inBatches(ctx, batch, n, func(ctx context.Context, t *trial) (time.Duration, error) {
			start := m.clock()
			_, _, err := m.stand.decideTrial(ctx, t)
			return m.clock().Sub(start), err
		})
		if err != nil {
			return err
		}
		decided = append(decided, took...)
		if start/n >= scripts {
			continue
		}
		if took, err = inBatches(ctx, batch, n, m.byScriptAtOnce); err != nil {
			return err
		}
		scripted = append(scripted, took...)
	}
	m.report.WarmAt, m.report.ScriptAt = decided.Summary(), scripted.Summary()
	m.report.RatioAt = measure.Ratio(scripted.Median(), decided.Median())
	m.report.Retries = m.script.Retries()
	return nil
}

func (m *measurement) byScriptAtOnce(ctx context.Context, t *trial) (time.Duration, error) {
	start := m.clock()
	_, err := m.script.Decide(ctx, t.Target, t.Diff)
	return m.clock().Sub(start), err
}

// readings are what the meters show.
type readings struct {
	reads, ancestry, merge, outlines                time.Duration
	readCalls, outlineCalls, outlineFiles, outlined int64
}

func (m *measurement) readings() readings {
	x := m.stand.meter
	return readings{
		x.Reads.Time(), x.Ancestry.Time(), x.Merges.Time(), x.Outlines.Time(),
		x.Reads.Calls(), x.Outlines.Calls(), x.OutlineFiles.Load(), x.OutlineBytes.Load(),
	}
}

// since gives the means of n decisions; computing is what is left of the whole.
func (t readings) since(before readings, n int, whole time.Duration) stages {
	mean := func(a, b time.Duration) float64 { return measure.Milliseconds((a - b) / time.Duration(n)) }
	each := func(a, b int64) float64 { return float64(a-b) / float64(n) }
	const kib = 1 << 10
	s := stages{
		Whole: measure.Milliseconds(whole), Reads: mean(t.reads, before.reads), Ancestry: mean(t.ancestry, before.ancestry),
		Merge: mean(t.merge, before.merge), Outlines: mean(t.outlines, before.outlines),
		ReadCalls: each(t.readCalls, before.readCalls), OutlineCalls: each(t.outlineCalls, before.outlineCalls),
		OutlineFiles: each(t.outlineFiles, before.outlineFiles), OutlineKiB: each(t.outlined, before.outlined) / kib,
	}
	s.Compute = s.Whole - s.Reads - s.Ancestry - s.Merge - s.Outlines
	return s
}
