package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is whom the server runs as. The zero value is the daemon's own account.
type account struct {
	drop     bool // the daemon is root and the server must not be
	uid, gid int
}

// serverAccount is the daemon's own account, or for root that of "postgres", or of "nobody".
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return account{drop: true, uid: uid, gid: gid}, nil
		}
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is neither an account \"postgres\" nor \"nobody\"")
}

func (a account) credential() *syscall.Credential {
	if !a.drop {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // account numbers are not negative
}

// own makes dir, private to the account.
func (a account) own(dir string) error {
	err := os.Mkdir(dir, 0o700) //nolint:gosec // below the data directory, or recorded there by this package
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if a.drop {
		if err := os.Lchown(dir, a.uid, a.gid); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o700) //nolint:gosec // a directory needs its execute bit
}

// canEnter reports whether the account may pass through every directory of the absolute path.
func (a account) canEnter(path string) bool {
	if !a.drop {
		return true
	}
	for {
		info, err := os.Stat(path)
		if err != nil {
			return false
		}
		if !a.hasExecute(info) {
			return false
		}
		if path == filepath.Dir(path) {
			return true
		}
		path = filepath.Dir(path)
	}
}

func (a account) hasExecute(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	mode := info.Mode().Perm()
	switch {
	case int(stat.Uid) == a.uid:
		return mode&0o100 != 0
	case int(stat.Gid) == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

func (a account) String() string {
	if !a.drop {
		return "the daemon's account"
	}
	return fmt.Sprintf("account %d", a.uid)
}
