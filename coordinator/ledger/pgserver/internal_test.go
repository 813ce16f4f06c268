package pgserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMajorVersionIsReadFromWhatThePackagersPrint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 18beta1":                          18,
		"postgres (PostgreSQL) 9.6.24":                           9,
		"something else":                                         0,
	} {
		require.Equal(t, want, parseMajor(text), text)
	}
}

func TestNewerProgramsArePreferred(t *testing.T) {
	t.Parallel()
	require.Greater(t, versionIn("/usr/lib/postgresql/15/bin"), versionIn("/usr/lib/postgresql/9.6/bin")-1)
	require.Greater(t, versionIn("/opt/homebrew/opt/postgresql@17/bin"), versionIn("/opt/homebrew/opt/postgresql@14/bin"))
	require.Zero(t, versionIn("/opt/homebrew/opt/postgresql/bin"))
}

func TestAProcessFileStillBeingWrittenIsNotReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, pidFileName), []byte(text), 0o600))
	}
	_, err := readPIDFile(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, text := range []string{"", "x\n", "-4\n"} {
		write(text)
		_, err := readPIDFile(dir)
		require.Error(t, err, "%q", text)
	}
	write("12\n/data\n1700000000\n5432\n/run/x\n\n  5432001   7\n")
	file, err := readPIDFile(dir)
	require.NoError(t, err)
	require.Equal(t, pidFile{pid: 12, socket: "/run/x"}, file)
	write("12\n/data\n1700000000\n5432\n/run/x\n\n  5432001   7\nready   \n")
	file, err = readPIDFile(dir)
	require.NoError(t, err)
	require.Equal(t, "ready", file.status)
}

func TestWithoutFetchingAMissingProgramIsSaidSo(t *testing.T) {
	t.Parallel()
	s := &Server{opt: Options{NoFetch: true, FetchCache: t.TempDir()}.withDefaults(), place: place{area: t.TempDir()}}
	var missing *NotFoundError
	_, err := s.fetched(t.Context(), 15)
	require.ErrorAs(t, err, &missing)
	require.Contains(t, err.Error(), `"postgresql-15"`)
	_, err = s.fetched(t.Context(), 9)
	require.ErrorAs(t, err, &missing)
}

func TestAnAccountEntersByItsOwnBits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.True(t, account{}.canEnter(dir))
	mine := account{drop: true, uid: os.Getuid(), gid: os.Getgid()}
	require.True(t, mine.hasExecute(info))
	stranger := account{drop: true, uid: 1 << 20, gid: 1 << 20}
	require.NoError(t, os.Chmod(dir, 0o700))
	info, err = os.Stat(dir)
	require.NoError(t, err)
	require.False(t, stranger.hasExecute(info))
	require.NoError(t, os.Chmod(dir, 0o711))
	info, err = os.Stat(dir)
	require.NoError(t, err)
	require.True(t, stranger.hasExecute(info))
}
