package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The stages of the hidden mode.
const (
	stageSupervise = "supervise"
	stageLaunch    = "launch"
)

// ServeExec is what patchd's hidden mode runs; args are the arguments after the mode's name, and the result is the process's exit
// status. It is of no use by hand: what to do comes over descriptors that only [Sandbox.Run] opens.
func ServeExec(args []string) int {
	if len(args) != 1 || !isPipe(controlFD) || !isPipe(statusFD) {
		fmt.Fprintln(os.Stderr, "this mode is started by patchd itself")
		return 2
	}
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(statusFD)
	control, status := os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status")
	switch args[0] {
	case stageSupervise:
		return serveSupervise(control, status)
	case stageLaunch:
		return serveLaunch(control, status)
	}
	return 2
}

func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}
