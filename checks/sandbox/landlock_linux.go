package sandbox

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// restrictFiles lets the command write in the worktree and its private directory, read system directories, and touch nothing else.
// Where the kernel can, it may not signal processes outside either (Landlock 6).
func restrictFiles(p plan) error {
	rules := []landlock.Rule{
		landlock.RWFiles(devNull, "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty").IgnoreIfMissing(),
		landlock.RODirs("/proc"),
	}
	for _, path := range p.ReadOnly {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			rules = append(rules, landlock.RODirs(path))
		} else if err == nil {
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	for _, path := range p.ReadWrite {
		rules = append(rules, landlock.RWDirs(path).WithRefer())
	}
	if err := landlock.V6.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	return nil
}
