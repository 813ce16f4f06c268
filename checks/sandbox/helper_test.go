package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"patchd/checks/sandbox"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// helperMode makes this test binary do one small thing that a shell cannot.
const helperMode = "test-helper"

// helper runs as a command inside, except daemon, which runs outside and is killed by its test.
func helper(args []string) int {
	switch args[0] {
	case "dial":
		conn, err := net.DialTimeout(args[1], args[2], 5*time.Second)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		_ = conn.Close()
		return 0
	case "loopback":
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Println(err)
			return 1
		}
		return helper([]string{"dial", "tcp", ln.Addr().String()})
	case "keyring":
		if _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	case "shared-memory":
		return eatSharedMemory(args[1])
	case "daemon":
		return daemon(args[1], args[2], args[3], args[4])
	}
	return 2
}

// eatSharedMemory fills a file in memory, which belongs to no process's anonymous memory.
func eatSharedMemory(size string) int {
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return 2
	}
	f, err := os.Create("/dev/shm/hog")
	if err != nil {
		return 1
	}
	_, err = io.CopyN(f, zeros{}, n)
	if err != nil {
		return 1
	}
	select {}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// daemon runs a script as patchd would and prints "started" when the script says so.
func daemon(level, dir, scratch, script string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	ctx := context.Background()
	box, err := sandbox.New(ctx, sandbox.Options{
		Self: []string{self, execMode}, Scratch: scratch, AllowUnconfined: true, Only: []sandbox.Level{sandbox.Level(level)},
	})
	if err != nil {
		return 1
	}
	_, err = box.Run(ctx, sandbox.Spec{Dir: dir, Args: []string{"sh", "-c", script}, Env: environment()}, os.Stdout)
	if err != nil {
		return 1
	}
	return 0
}

// helperSpec runs the helper inside.
func helperSpec(t *testing.T, dir string, args ...string) sandbox.Spec {
	t.Helper()
	self := publicCopy(t)
	inside := sandbox.Home + "/tools/helper"
	env := environment()
	env["TOOL"] = inside // adapted where HOME is
	return sandbox.Spec{
		Dir: dir, Env: env, Mounts: []sandbox.Mount{{Source: self, Target: inside}},
		Args: append([]string{"sh", "-c", `exec "$TOOL" "$@"`, "helper", helperMode}, args...),
	}
}

// publicDir makes a directory that every user can enter.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "patchd-test-helper-") //nolint:usetesting // t.TempDir lies below a directory that only this user may enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// publicCopy puts this test binary where every user can run it.
func publicCopy(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := publicDir(t)
	// By another process: a descriptor of ours could be inherited, and keep the copy busy.
	require.NoError(t, exec.CommandContext(t.Context(), "install", "-m", "755", self, dir+"/helper").Run())
	return dir + "/helper"
}

// survivors lists processes whose command line has the marker as an argument.
func survivors(t *testing.T, marker string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil {
			continue
		}
		for arg := range strings.SplitSeq(string(bytes.TrimRight(text, "\x00")), "\x00") {
			if arg == marker {
				out = append(out, e.Name()+" "+strings.ReplaceAll(string(text), "\x00", " "))
			}
		}
	}
	return out
}

// marker is a number of seconds that no other process sleeps for.
func marker(t *testing.T) string {
	t.Helper()
	sum := 0
	for _, c := range t.Name() {
		sum = (sum*31 + int(c)) % 99991
	}
	return fmt.Sprintf("9%d.%05d", os.Getpid(), sum)
}
