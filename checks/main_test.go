package checks_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"patchd/checks/sandbox"
)

// execMode makes this test binary serve as the sandbox's supervisor, as patchd's hidden mode does.
const execMode = "test-sandbox-exec"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == execMode {
		os.Exit(sandbox.ServeExec(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}
