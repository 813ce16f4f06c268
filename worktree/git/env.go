package git

import (
	"path/filepath"
	"strings"
)

// neutralEnv is the environment of every git that must not see anything personal: it is built from nothing, so no
// GIT_* variable of ours reaches it. home is a directory without configuration.
func neutralEnv(binary, home string) []string {
	return []string{
		"PATH=" + filepath.Dir(binary) + ":/usr/local/bin:/usr/bin:/bin",
		"HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null", "GIT_NO_LAZY_FETCH=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "GIT_EDITOR=:",
		"GIT_AUTHOR_NAME=patchd", "GIT_AUTHOR_EMAIL=patchd@localhost",
		"GIT_COMMITTER_NAME=patchd", "GIT_COMMITTER_EMAIL=patchd@localhost",
	}
}

// mergePins fix everything that configuration could change in a merge or a diff.
func mergePins() []string {
	return pins(
		"merge.renames=true", "merge.directoryRenames=false", "merge.renameLimit=1000", "merge.conflictStyle=merge",
		"merge.renormalize=false", "diff.renames=true", "diff.renameLimit=1000", "diff.algorithm=histogram",
		"core.autocrlf=false", "core.attributesFile=/dev/null", "core.fsync=none", "core.commitGraph=false",
		"advice.graftFileDeprecated=false",
	)
}

// writePins keep git in the user's repository from running or relaxing anything local.
func writePins() []string {
	return pins(
		"safe.directory=*", "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.protectHFS=true",
		"core.protectNTFS=true", "core.fsync=loose-object,reference", "gc.auto=0", "maintenance.auto=false",
		"core.filesRefLockTimeout=1000", "core.packedRefsTimeout=1000", "core.untrackedCache=false",
		"worktree.useRelativePaths=false",
		"advice.graftFileDeprecated=false",
	)
}

func pins(settings ...string) []string {
	args := make([]string, 0, 2*len(settings))
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

func with(base []string, more ...string) []string {
	return append(append(make([]string, 0, len(base)+len(more)), base...), more...)
}

// userEnv is the caller's environment without the variables that redirect git.
func userEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, v := range env {
		if !strings.HasPrefix(v, "GIT_") {
			kept = append(kept, v)
		}
	}
	return append(kept, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
}

// quotePathList quotes a directory for GIT_ALTERNATE_OBJECT_DIRECTORIES, in which colons separate.
func quotePathList(dir string) string {
	replacer := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	return `"` + replacer.Replace(dir) + `"`
}
