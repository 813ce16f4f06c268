package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Memory is what a process holds and held at most, in bytes (VmRSS and VmHWM of proc(5)).
type Memory struct {
	Resident int64 `json:"resident_bytes"`
	Peak     int64 `json:"peak_bytes"`
}

// MemoryOf reads the memory of a process.
func MemoryOf(pid int) (Memory, error) {
	data, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return Memory{}, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	return Memory{kilobytes(data, "VmRSS:"), kilobytes(data, "VmHWM:")}, nil
}

// ResetPeak has the peak of a process begin anew from what it holds.
func ResetPeak(pid int) error {
	const resetPeak = "5"
	if err := os.WriteFile(procFile(pid, "clear_refs"), []byte(resetPeak), 0); err != nil {
		return fmt.Errorf("reset peak of process %d: %w", pid, err)
	}
	return nil
}

// MemoryOfChildren sums the memory of all processes that descend from one.
func MemoryOfChildren(pid int) (Memory, error) {
	var sum Memory
	for _, child := range descendants(pid) {
		m, err := MemoryOf(child)
		if os.IsNotExist(err) {
			continue // it ended meanwhile
		}
		sum.Resident += m.Resident
		sum.Peak += m.Peak
	}
	return sum, nil
}

// descendants lists the processes below one.
func descendants(pid int) []int {
	parents := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, name := range stats {
		data, err := os.ReadFile(name) //nolint:gosec // a file of proc(5)
		if err != nil {
			continue
		}
		// The command stands in parentheses and may hold anything; the parent's id is the second field after it.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			parents[parent] = append(parents[parent], child)
		}
	}
	var out []int
	for next := parents[pid]; len(next) > 0; {
		out = append(out, next...)
		var below []int
		for _, child := range next {
			below = append(below, parents[child]...)
		}
		next = below
	}
	return out
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

func kilobytes(status []byte, key string) int64 {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok {
			if fields := bytes.Fields(rest); len(fields) > 0 {
				n, err := strconv.ParseInt(string(fields[0]), 10, 64)
				if err == nil {
					return n << 10
				}
			}
		}
	}
	return 0
}
