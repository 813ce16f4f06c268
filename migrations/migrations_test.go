package migrations_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"patchd/migrations"
)

func TestEmbeddedMigrationsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	all, err := migrations.All()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for i, m := range all {
		require.Equal(t, i+1, m.Version)
		require.Len(t, m.Checksum(), 64)
	}
}

func TestReadRefusesGapsHalvesAndOddNames(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{Data: []byte("SELECT 1")}
	for name, fsys := range map[string]fstest.MapFS{
		"a gap":                      {"0001_a.up.sql": file, "0001_a.down.sql": file, "0003_c.up.sql": file, "0003_c.down.sql": file},
		"a missing half":             {"0001_a.up.sql": file},
		"an odd name":                {"1_a.sql": file},
		"one number under two names": {"0001_a.up.sql": file, "0001_b.down.sql": file},
	} {
		_, err := migrations.Read(fsys)
		require.Error(t, err, name)
	}
}

func TestTheChecksumCoversBothDirections(t *testing.T) {
	t.Parallel()
	m := migrations.Migration{Version: 1, Name: "a", Up: "x", Down: "y"}
	up, down := m, m
	up.Up, down.Down = "z", "z"
	require.NotEqual(t, m.Checksum(), up.Checksum())
	require.NotEqual(t, m.Checksum(), down.Checksum())
}
