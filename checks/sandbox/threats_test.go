package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"patchd/checks/sandbox"

	"github.com/stretchr/testify/require"
)

func TestHangingCommandEndsAtTheTimeLimitWithAllItStarted(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			m := marker(t)
			end, _ := shell(t, box, t.TempDir(), "sleep "+m+" & sleep "+m, sandbox.Limits{Timeout: time.Second / 2})
			require.Equal(t, sandbox.TimedOut, end.Cause, end.Detail)
			require.Equal(t, -1, end.ExitCode)
			require.Empty(t, survivors(t, m))
		})
	}
}

func TestIgnoringTermDelaysTheEndByTheGraceOnly(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			m := marker(t)
			script := fmt.Sprintf(`trap "" TERM INT HUP; (trap "" TERM; sleep %s) & while :; do sleep 1; done`, m)
			end, _ := shell(t, box, t.TempDir(), script, sandbox.Limits{Timeout: time.Second / 2, Grace: time.Second / 5})
			require.Equal(t, sandbox.TimedOut, end.Cause, end.Detail)
			require.Empty(t, survivors(t, m))
		})
	}
}

func TestTermComesBeforeKill(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			end, out := shell(t, box, t.TempDir(), `trap "echo cleaned up; exit 0" TERM; while :; do sleep 0.05; done`,
				sandbox.Limits{Timeout: 3 * time.Second, Grace: 10 * time.Second})
			require.Equal(t, sandbox.TimedOut, end.Cause, "a clean exit on TERM is no pass")
			require.Contains(t, out, "cleaned up")
		})
	}
}

func TestDaemonisedProcessesHoldingStdoutNeitherHangTheRunNorSurvive(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			m := marker(t)
			script := fmt.Sprintf(`setsid sh -c 'setsid sleep %[1]s & (trap "" TERM HUP; exec sleep %[1]s) & exit 0' & (sleep %[1]s &) ; exit 7`, m)
			end, _ := shell(t, box, t.TempDir(), script, sandbox.Limits{})
			require.Equal(t, sandbox.Exited, end.Cause, end.Detail)
			require.Equal(t, 7, end.ExitCode)
			require.Empty(t, survivors(t, m))
		})
	}
}

func TestFillingTheDiskIsStoppedWithoutAVerdict(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			end, _ := shell(t, box, t.TempDir(), `i=0; while :; do head -c 4000000 /dev/zero > big.$i || exit 1; i=$((i+1)); done`,
				sandbox.Limits{DiskBytes: 256 << 20})
			require.Equal(t, sandbox.OutOfDisk, end.Cause, end.Detail)
		})
	}
}

func TestPrivateTemporaryFilesAreBounded(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			if box.Level() == sandbox.Landlock || box.Level() == sandbox.Unconfined {
				t.Skip("on disk at this level, and bounded as the disk is")
			}
			for _, place := range []string{"/tmp", "/var/tmp", "$HOME", "/dev/shm"} {
				end, out := shell(t, box, t.TempDir(), `head -c 20000000 /dev/zero > `+place+`/big`, sandbox.Limits{ScratchBytes: 10 << 20})
				require.Equal(t, sandbox.Exited, end.Cause)
				require.NotZero(t, end.ExitCode)
				require.Contains(t, out, "No space left")
			}
			for _, place := range []string{"/", "/dev", "/run", "/var", "/etc", "/usr", "/proc/sys/kernel/hostname"} {
				end, _ := shell(t, box, t.TempDir(), `if [ -d `+place+` ]; then echo x > `+place+`/x; else echo x > `+place+`; fi`, sandbox.Limits{})
				require.NotZero(t, end.ExitCode, "%s can be written", place)
			}
		})
	}
}

func TestEatingMemoryIsStoppedWithoutAVerdict(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			limits := sandbox.Limits{MemoryBytes: 128 << 20}
			end, out := shell(t, box, t.TempDir(), `head -c 3000000000 /dev/zero | tail -c 2900000000 | sleep 60`, limits)
			require.Equal(t, sandbox.OutOfMemory, end.Cause, "%s %s", end.Detail, out)

			spec := helperSpec(t, t.TempDir(), "shared-memory", "300000000")
			spec.Limits = limits
			if box.Level() == sandbox.Bubblewrap || box.Level() == sandbox.Namespaces {
				end, _ = run(t, box, spec)
				require.Equal(t, sandbox.OutOfMemory, end.Cause, "files in memory count: %s", end.Detail)
			}
		})
	}
}

func TestTooManyProcessesAreStoppedWithoutAVerdict(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			m := marker(t)
			end, _ := shell(t, box, t.TempDir(), `i=0; while [ $i -lt 60 ]; do sleep `+m+` & i=$((i+1)); done; wait`, sandbox.Limits{Processes: 30})
			require.Equal(t, sandbox.TooMany, end.Cause, end.Detail)
			require.Empty(t, survivors(t, m))
		})
	}
}

func TestRefsAndGitDataCannotBeChanged(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			if box.Level() == sandbox.Unconfined {
				t.Skip("this level keeps nothing from the command")
			}
			repo, tree := linkedWorktree(t)
			head := git(t, repo, "rev-parse", "HEAD")
			script := `git commit -q --allow-empty -m evil; git update-ref refs/heads/evil HEAD; git branch evil2; git config core.hooksPath /tmp/x;
			echo x > ` + repo + `/.git/refs/heads/evil3; echo x > ` + repo + `/.git/config; rm -rf ` + repo + `; exit 0`
			_, out := shell(t, box, tree, script, sandbox.Limits{})
			require.Equal(t, head+" refs/heads/main", git(t, repo, "for-each-ref", "--format=%(objectname) %(refname)"), out)
			require.Empty(t, git(t, repo, "status", "--porcelain"))
			require.NotContains(t, git(t, repo, "config", "--list"), "hookspath")
			require.Equal(t, head, git(t, tree, "rev-parse", "HEAD"), "the worktree still knows its repository")
		})
	}
}

func TestTheRepositoryCanBeReadButNotItsConfiguration(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			if box.Level() != sandbox.Bubblewrap && box.Level() != sandbox.Namespaces {
				t.Skip("needs a mount namespace")
			}
			repo, tree := linkedWorktree(t)
			require.Equal(t, git(t, repo, "rev-parse", "HEAD")+"\nfirst\n", passes(t, box, tree, `git rev-parse HEAD; git log -1 --format=%s`))
			out := passes(t, box, tree, `git config --list; cat `+repo+`/.git/config; ls `+repo+`/.git`)
			require.NotContains(t, out, "hunter2")
			require.NotContains(t, out, "hooks")
			require.NotContains(t, out, "logs")

			for _, dir := range []string{tree, repo} {
				end, out := run(t, box, sandbox.Spec{Dir: dir, Args: []string{"git", "rev-parse", "HEAD"}, Env: environment(), Git: sandbox.GitHidden})
				require.Equal(t, sandbox.Exited, end.Cause)
				require.NotZero(t, end.ExitCode, "hidden: %s", out)
			}
			require.NotContains(t, passes(t, box, repo, `cat .git/config; git status --porcelain; git rev-parse HEAD`), "hunter2")
		})
	}
}

func TestTheDaemonsEnvironmentFilesAndHomesAreOutOfReach(t *testing.T) {
	t.Parallel()
	secretDir := t.TempDir()
	secret := filepath.Join(secretDir, "token")
	require.NoError(t, os.WriteFile(secret, []byte("the-token"), 0o600))
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			if box.Level() == sandbox.Unconfined {
				t.Skip("this level keeps nothing from the command")
			}
			_, out := shell(t, box, t.TempDir(), `cat /proc/*/environ | tr '\0' '\n'; cat `+secret+`; ls -la `+secretDir+` /root; cat /etc/shadow; env`, sandbox.Limits{})
			require.NotContains(t, out, "do-not-read-me")
			require.NotContains(t, out, "the-token")
			require.NotContains(t, out, "root:*:")
			require.NotContains(t, out, ".bashrc")
		})
	}
}

func TestSocketsOfTheHostAreOutOfReach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	unixLn, err := net.Listen("unix", socket)
	require.NoError(t, err)
	tcpLn, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = unixLn.Close(), tcpLn.Close() })
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			unixEnd, _ := run(t, box, helperSpec(t, t.TempDir(), "dial", "unix", socket))
			tcpEnd, _ := run(t, box, helperSpec(t, t.TempDir(), "dial", "tcp", tcpLn.Addr().String()))
			require.Equal(t, sandbox.Exited, unixEnd.Cause)
			require.Equal(t, sandbox.Exited, tcpEnd.Cause)
			if box.Level() == sandbox.Unconfined {
				require.Zero(t, unixEnd.ExitCode, "the helper itself works")
				require.Zero(t, tcpEnd.ExitCode, "the helper itself works")
				return
			}
			require.Equal(t, 1, unixEnd.ExitCode)
			require.Equal(t, 1, tcpEnd.ExitCode)
			if box.Level() != sandbox.Landlock {
				end, out := run(t, box, helperSpec(t, t.TempDir(), "loopback"))
				require.Zero(t, end.ExitCode, "its own loopback works: %s", out)
			}
		})
	}
}

func TestCancellingEndsTheRunWithTheContextsError(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			m := marker(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			started := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
			_, err := box.Run(ctx, sandbox.Spec{Dir: t.TempDir(), Args: []string{"sh", "-c", "echo started; sleep " + m}, Env: environment()}, started)
			require.ErrorIs(t, err, context.Canceled)
			require.Empty(t, survivors(t, m))
		})
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestKillingTheDaemonEndsItsCommands(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			require.NoError(t, err)
			m, scratch := marker(t), publicDir(t)
			cmd := exec.Command(self, helperMode, "daemon", string(box.Level()), t.TempDir(), scratch, "echo started; sleep "+m+" & sleep "+m)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "started\n", line)
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			require.Eventually(t, func() bool {
				left, err := os.ReadDir(scratch)
				return err == nil && len(left) == 0 && len(survivors(t, m)) == 0
			}, 20*time.Second, 20*time.Millisecond)
		})
	}
}

func TestKillingTheSupervisorHelpsNobody(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			m := marker(t)
			end, _ := shell(t, box, t.TempDir(), "sleep "+m+" & kill -9 $PPID; kill -9 1; sleep 0.3; exit 0", sandbox.Limits{})
			if box.Level() == sandbox.Unconfined {
				require.Equal(t, sandbox.SupervisorLost, end.Cause, end.Detail)
			} else {
				require.Equal(t, sandbox.Exited, end.Cause, "it could not be killed: %s", end.Detail)
			}
			require.Empty(t, survivors(t, m))
		})
	}
}

func TestTheHomeAndTheNameAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			if box.Level() != sandbox.Bubblewrap && box.Level() != sandbox.Namespaces {
				t.Skip("needs a mount namespace")
			}
			out := passes(t, box, t.TempDir(), `pwd; echo $HOME; id -u; id -un; hostname; env | sort | tr '\n' ' '; ls /home /tmp`)
			want := "/home/check/src\n/home/check\n1000\ncheck\ncheck\n" +
				"HOME=/home/check LANG=C.UTF-8 PATH=/usr/local/go/bin:/usr/bin:/bin PWD=/home/check/src TMPDIR=/tmp /home:\ncheck\n\n/tmp:\n"
			require.Equal(t, want, out)
			caps := passes(t, box, t.TempDir(), `grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp:' /proc/self/status`)
			for line := range strings.Lines(caps) {
				if strings.HasPrefix(line, "Cap") {
					require.True(t, strings.HasSuffix(line, "\t0000000000000000\n"), line)
				}
			}
			require.Contains(t, caps, "NoNewPrivs:\t1")
		})
	}
}

func TestNoNewUserNamespacesAndNoKeyrings(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			if box.Level() == sandbox.Unconfined {
				t.Skip("this level keeps nothing from the command")
			}
			end, out := shell(t, box, t.TempDir(), `unshare -U true`, sandbox.Limits{})
			require.Equal(t, 1, end.ExitCode, out)
			require.Contains(t, out, "Operation not permitted")
			end, out = run(t, box, helperSpec(t, t.TempDir(), "keyring"))
			require.Equal(t, 1, end.ExitCode, out)
			require.Contains(t, out, "operation not permitted")
		})
	}
}
