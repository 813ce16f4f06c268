package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// write puts the pack and then its index into dir. Only the rename of the index makes git see the pack, so a crash
// leaves at most a temporary or an unindexed file, which git's own collection removes.
func (p *pack) write(dir string, durable bool) error {
	final := filepath.Join(dir, p.name)
	if exists(final+".idx") && exists(final+".pack") {
		refresh(final + ".pack")
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as git makes it; the umask decides
		return err
	}
	var packTemp, idxTemp string
	var group errgroup.Group
	group.Go(func() (err error) { packTemp, err = writeTemp(dir, "tmp_pack_", p.data, durable); return err })
	group.Go(func() (err error) { idxTemp, err = writeTemp(dir, "tmp_idx_", p.idx, durable); return err })
	if err := group.Wait(); err != nil {
		removeFiles(packTemp, idxTemp)
		return err
	}
	if err := os.Rename(packTemp, final+".pack"); err != nil {
		removeFiles(packTemp, idxTemp)
		return err
	}
	if err := os.Rename(idxTemp, final+".idx"); err != nil {
		removeFiles(idxTemp)
		return err
	}
	if !durable {
		return nil
	}
	return syncDir(dir)
}

func writeTemp(dir, prefix string, data []byte, durable bool) (path string, err error) {
	file, err := os.CreateTemp(dir, prefix)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(0o444))
	if durable && err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return "", fmt.Errorf("write %s: %w", filepath.Base(file.Name()), err)
	}
	return file.Name(), nil
}

func removeFiles(paths ...string) {
	for _, path := range paths {
		if path != "" {
			_ = os.Remove(path)
		}
	}
}

func syncDir(dir string) error {
	handle, err := os.Open(dir) //nolint:gosec // git's pack directory
	if err != nil {
		return err
	}
	return errors.Join(handle.Sync(), handle.Close())
}

// refresh sets a file's times to the file system's present; an absent file is none of its business.
func refresh(path string) {
	_ = unix.Utimes(path, nil)
}
