package sandbox

import (
	"os"
	"path/filepath"
)

// cachePlaces are, below a home directory, where toolchains and package caches live. None holds credentials: .cargo, .m2 and .npm as
// a whole would.
func cachePlaces() []string {
	return []string{
		"go/bin", "go/pkg/mod", ".cargo/bin", ".cargo/git", ".cargo/registry", ".rustup", ".nvm", ".npm/_cacache", ".bun", ".deno",
		".local/bin", ".local/lib", ".local/share/mise", ".local/share/pnpm", ".local/share/uv", ".pyenv", ".rbenv", ".sdkman",
		".m2/repository", ".gradle/wrapper", ".cache/pip", ".cache/uv", ".cache/yarn",
	}
}

// HomeCaches lists the toolchains and package caches that exist below a user's home, as read-only mounts at the same places below
// [Home]. A cache that commands may write is another matter: what one run leaves there decides the next one's verdict.
func HomeCaches(home string) []Mount {
	var out []Mount
	for _, place := range cachePlaces() {
		path := filepath.Join(home, place)
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			out = append(out, Mount{Source: path, Target: filepath.Join(Home, place)})
		}
	}
	return out
}
