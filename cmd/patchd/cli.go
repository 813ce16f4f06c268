package main

// globals are the flags that every command has.
type globals struct {
	Server    string `placeholder:"URL" env:"PATCHD_SERVER" help:"The daemon: an http URL or unix:PATH. Without it the daemon of the data directory is asked."`
	DataDir   string `placeholder:"DIR" env:"PATCHD_DATA_DIR" default:"${datadir}" help:"Where the daemon keeps its state and its token."`
	Token     string `placeholder:"TOKEN" env:"PATCHD_TOKEN" help:"Bearer token. Without it the one in the data directory is used."`
	JSON      bool   `name:"json" help:"Print exactly one JSON document on stdout."`
	LogLevel  string `enum:",debug,info,warn,error" default:"" env:"PATCHD_LOG_LEVEL" help:"debug, info, warn or error; logs go to stderr."`
	LogFormat string `enum:"text,json" default:"text" env:"PATCHD_LOG_FORMAT" help:"text or json."`
}

// cli is the whole grammar with its environment variables and defaults.
type cli struct {
	globals

	Demo   demoCmd   `cmd:"" help:"Watch patches be decided on a disposable repository."`
	Init   initCmd   `cmd:"" help:"Write a starter .patchd.yml for what the repository holds."`
	Doctor doctorCmd `cmd:"" help:"Say what is missing on this machine and how to mend it."`
	Serve  serveCmd  `cmd:"" help:"Run the daemon."`

	Submit    submitCmd    `cmd:"" help:"Hand in a patch: the worktree's present state, or prepared files."`
	Status    statusCmd    `cmd:"" help:"Show the guarded branches."`
	List      listCmd      `cmd:"" help:"List patches."`
	Show      showCmd      `cmd:"" help:"Show a patch and its decision."`
	Conflicts conflictsCmd `cmd:"" help:"List conflicts and their reasons, or show one's merge candidate."`
	Resolve   resolveCmd   `cmd:"" help:"Do something about a conflict or a patch that waits for a person."`
	Withdraw  withdrawCmd  `cmd:"" help:"Take a patch back."`
	Seal      sealCmd      `cmd:"" help:"Seal a round: compose and check patches as one."`
	Land      landCmd      `cmd:"" help:"Land a round that is ready."`
	Pause     pauseCmd     `cmd:"" help:"Stop new rounds and landings of a branch."`
	Resume    resumeCmd    `cmd:"" help:"Take rounds and landings again."`
	Log       logCmd       `cmd:"" help:"Read a branch's ledger."`
	Verify    verifyCmd    `cmd:"" help:"Check a branch's ledger from end to end."`

	Decide   decideCmd   `cmd:"" help:"Decide one patch here, without daemon or database: the reference."`
	Repro    reproCmd    `cmd:"" help:"Feed a set of patches to fresh coordinators in many orders and compare."`
	Manifest manifestCmd `cmd:"" help:"Write manifest.json and patch.diff for a change."`
	Worktree worktreeCmd `cmd:"" help:"List or remove the worktrees that checks run in."`
	Tokens   tokenCmd    `cmd:"" name:"token" help:"Make, list or revoke credentials."`
	Version  versionCmd  `cmd:"" help:"Show the versions of patchd, its rules and git."`
}
