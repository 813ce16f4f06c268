package checks_test

import (
	"os"
	"testing"

	"patchd/checks/sandbox"

	"go.uber.org/goleak"
)

// execMode makes this test binary serve as the sandbox's supervisor, as patchd's hidden mode does.
const execMode = "test-sandbox-exec"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == execMode {
		os.Exit(sandbox.ServeExec(os.Args[2:])) //nolint:forbidigo // the process is the supervisor now
	}
	goleak.VerifyTestMain(m)
}
