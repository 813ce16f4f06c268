package git

import (
	"context"
	"fmt"
	"path/filepath"
)

// Packs counts the packs of the repository's own store. Every process that reads objects pays for each.
func (r *Repo) Packs() (int, error) {
	packs, err := filepath.Glob(filepath.Join(globQuote(r.objectDir), "pack", "*.pack"))
	if err != nil {
		return 0, fmt.Errorf("count packs: %w", err)
	}
	return len(packs), nil
}

// Consolidate gathers small packs, of which every WritePack leaves one, into a larger one, as git's own incremental
// repacking does: a multi-pack index is written, packs below batchBytes together are copied into one, and those that
// nothing is read from any more are removed. Reachable or not, no object is lost, and readers may go on meanwhile.
func (r *Repo) Consolidate(ctx context.Context, batchBytes int64) error {
	steps := [][]string{
		{"multi-pack-index", "write", "--no-progress"},
		{"multi-pack-index", "repack", "--no-progress", fmt.Sprintf("--batch-size=%d", batchBytes)},
		{"multi-pack-index", "expire", "--no-progress"},
	}
	for _, step := range steps {
		args := append(append(writePins(), pins("core.fsync=all", "core.multiPackIndex=true")...), step...)
		if _, err := r.run(ctx, command{args: args, dir: r.commonDir, env: with(r.env, "GIT_DIR="+r.commonDir)}); err != nil {
			return fmt.Errorf("consolidate packs: %w", err)
		}
	}
	return nil
}
