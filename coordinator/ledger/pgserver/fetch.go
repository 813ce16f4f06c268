package pgserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// fetched gives programs that were fetched before, or fetches them. They come from Maven Central as packaged by
// the project zonkyio/embedded-postgres-binaries.
func (s *Server) fetched(ctx context.Context, need int) (binaries, error) {
	cache, err := s.fetchCache()
	if err != nil {
		return binaries{}, fmt.Errorf("make cache directory: %w", err)
	}
	version, known := releaseOf(need)
	if !known {
		return binaries{}, &NotFoundError{Major: need}
	}
	dir := filepath.Join(cache, string(version))
	if found, ok := s.probe(ctx, filepath.Join(dir, "bin"), need); ok {
		return found, nil
	}
	if s.opt.NoFetch {
		return binaries{}, &NotFoundError{Major: need}
	}
	s.opt.Logger.InfoContext(ctx, "fetching the database server's programs", slog.String("version", string(version)))
	cause := fetch(version, s.opt.FetchURL, cache, dir)
	found, ok := s.probe(ctx, filepath.Join(dir, "bin"), need)
	if !ok {
		return binaries{}, &NotFoundError{Major: need, Cause: cause}
	}
	return found, nil
}

// fetch downloads and unpacks the programs into dir. The library has no function for this alone: it is asked for
// a cluster in an encoding that does not exist, so that it fetches, unpacks, and then stops at initdb. Its error
// is therefore only a reason if the programs are not there afterwards.
func fetch(version embeddedpostgres.PostgresVersion, from, cache, dir string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(cache, "scratch-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	config := embeddedpostgres.DefaultConfig()
	if from != "" {
		config = config.BinaryRepositoryURL(from)
	}
	return embeddedpostgres.NewDatabase(config.
		Version(version).Port(port).CachePath(cache).BinariesPath(dir).
		RuntimePath(filepath.Join(scratch, "run")).DataPath(filepath.Join(scratch, "data")).
		Encoding("no-such-encoding").Logger(io.Discard)).Start()
}

// releaseOf is the release to fetch for a cluster's major version, or for a new cluster.
func releaseOf(major int) (embeddedpostgres.PostgresVersion, bool) {
	switch major {
	case 0, 17:
		return embeddedpostgres.V17, true
	case 18:
		return embeddedpostgres.V18, true
	case 16:
		return embeddedpostgres.V16, true
	case 15:
		return embeddedpostgres.V15, true
	case 14:
		return embeddedpostgres.V14, true
	default:
		return "", false
	}
}

// fetchCache is a directory for fetched programs that the server's account can enter.
func (s *Server) fetchCache() (string, error) {
	if cache := s.opt.FetchCache; cache != "" {
		if err := os.MkdirAll(cache, 0o755); err != nil { //nolint:gosec // programs, to be run by another account
			return "", err
		}
		if s.account.canEnter(cache) {
			return cache, nil
		}
	}
	cache := filepath.Join(s.place.area, "programs")
	return cache, s.account.own(cache)
}

// freePort finds a port that nobody listens on, which the library insists on although nothing will listen there.
func freePort() (uint32, error) {
	listener, err := net.Listen("tcp", "localhost:0") //nolint:noctx // returns at once
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil || !ok {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return uint32(address.Port), nil //nolint:gosec // a port fits 16 bits
}
