package pgserver

import (
	"archive/zip"
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packaged is an archive as the packagers publish it (a zip that holds a tar.xz), with programs that only say
// their version.
func packaged(t *testing.T) []byte {
	t.Helper()
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("xz is not installed")
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	for _, program := range []string{"postgres", "initdb", "pg_ctl"} {
		script := "#!/bin/sh\necho '" + program + " (PostgreSQL) 17.5'\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", program), []byte(script), 0o755))
	}
	txz, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-cJf", "-", "bin").Output()
	require.NoError(t, err)
	var jar bytes.Buffer
	archive := zip.NewWriter(&jar)
	entry, err := archive.Create("postgres-linux-x86_64.txz")
	require.NoError(t, err)
	_, err = entry.Write(txz)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	return jar.Bytes()
}

func TestProgramsAreFetchedOnceAndKept(t *testing.T) {
	t.Parallel()
	jar := packaged(t)
	fetches := 0
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			http.NotFound(w, r)
			return
		}
		fetches++
		_, _ = w.Write(jar)
	}))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(repository.Close)
	cache := t.TempDir()
	s := &Server{opt: Options{FetchURL: repository.URL, FetchCache: cache}.withDefaults(), place: place{area: t.TempDir()}}
	for range 2 {
		found, err := s.fetched(t.Context(), 17)
		require.NoError(t, err)
		require.Equal(t, 17, found.major)
		require.True(t, strings.HasPrefix(found.dir, cache))
	}
	require.Equal(t, 1, fetches)
}

func TestAFetchThatFailsSaysWhatToInstallAndWhy(t *testing.T) {
	t.Parallel()
	repository := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(repository.Close)
	s := &Server{opt: Options{FetchURL: repository.URL, FetchCache: t.TempDir()}.withDefaults(), place: place{area: t.TempDir()}}
	var missing *NotFoundError
	_, err := s.fetched(t.Context(), 0)
	require.ErrorAs(t, err, &missing)
	require.Contains(t, err.Error(), `install the package "postgresql"`)
	require.Contains(t, err.Error(), "fetching them failed")
	require.NotContains(t, err.Error(), "\n")
}
