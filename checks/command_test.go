package checks_test

import (
	"strings"
	"testing"

	"patchd/checks"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCommandsAreSplitWithoutAShell(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		`npm test`:                      {"npm", "test"},
		`  go   test  ./... `:           {"go", "test", "./..."},
		`npm test -- parser`:            {"npm", "test", "--", "parser"},
		`sh -c 'exit 1; a | b > $c'`:    {"sh", "-c", "exit 1; a | b > $c"},
		`a "b c" d`:                     {"a", "b c", "d"},
		`a "b \"c\" \\ \d"`:             {"a", `b "c" \ \d`},
		`a 'b\' c`:                      {"a", `b\`, "c"},
		`a \  \" \\ \| x\$y`:            {"a", " ", `"`, `\`, "|", "x$y"},
		`a ''`:                          {"a", ""},
		`a ""'' b`:                      {"a", "", "b"},
		`a x'y z'"w"`:                   {"a", "xy zw"},
		`a * ? [b] {c} ~ # ! d=e %f`:    {"a", "*", "?", "[b]", "{c}", "~", "#", "!", "d=e", "%f"},
		`printf Grüße 世界`:               {"printf", "Grüße", "世界"},
		`node -e "process.exit(0)"`:     {"node", "-e", "process.exit(0)"},
		`pytest -k "a and not (b|c)" .`: {"pytest", "-k", "a and not (b|c)", "."},
	} {
		cmd, err := checks.ParseCommand(line)
		require.NoError(t, err, line)
		require.Equal(t, want, cmd.Args, line)
		again, err := checks.ParseCommand(cmd.Line)
		require.NoError(t, err, cmd.Line)
		require.Equal(t, cmd, again, "the canonical line stands for itself")
	}
}

func TestLinesThatAreNoCommandAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line   string
		offset int
		why    string
	}{
		{"", 0, "empty"},
		{"   ", 0, "empty"},
		{"''", 0, "name is empty"},
		{"a 'b", 2, "single quote"},
		{`a "b\"`, 2, "double quote"},
		{`a b\`, 3, "backslash"},
		{"a\nb", 1, "U+000A"},
		{"a\tb", 1, "U+0009"},
		{"a \x1b[31m", 2, "U+001B"},
		{"a \u202eb", 2, "U+202E"},
		{"a \xff", 0, "UTF-8"},
		{"a && b", 2, "without a shell"},
		{"a | b", 2, "without a shell"},
		{"a; b", 1, "without a shell"},
		{"a > f", 2, "without a shell"},
		{"a $(b)", 2, "without a shell"},
		{"a `b`", 2, "without a shell"},
		{"a " + strings.Repeat("x", checks.MaxCommandBytes), checks.MaxCommandBytes, "longer"},
		{strings.Repeat("x ", checks.MaxCommandArgs+1), 0, "more than 256"},
		{strings.Repeat(`\  `, 1000), checks.MaxCommandBytes, "canonically"},
	} {
		_, err := checks.ParseCommand(c.line)
		var bad *checks.CommandError
		require.ErrorAs(t, err, &bad, c.line)
		if c.why != "canonically" {
			require.Contains(t, bad.Why, c.why, c.line)
		}
		require.Contains(t, []int{c.offset, 0}, bad.Offset, c.line)
		require.Less(t, len(bad.Error()), 500)
	}
}

func TestArgumentsSurviveTheCanonicalLine(t *testing.T) {
	t.Parallel()
	piece := rapid.StringOf(rapid.RuneFrom([]rune(`ab-./*$&|;<>()` + "`" + ` '"\é`)))
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(piece, 1, 8).Draw(t, "args")
		args[0] = "p" + args[0]
		cmd, err := checks.NewCommand(args...)
		require.NoError(t, err)
		require.Equal(t, args, cmd.Args)
	})
}

func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{`npm test -- 'a b' "c\"d" e\ f`, `''`, `a '`, "a\x00", `\`, `a""b`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		cmd, err := checks.ParseCommand(line)
		if err != nil {
			return
		}
		again, err := checks.ParseCommand(cmd.Line)
		require.NoError(t, err)
		require.Equal(t, cmd, again)
		require.LessOrEqual(t, len(cmd.Line), checks.MaxCommandBytes)
		require.NotEmpty(t, cmd.Args[0])
		_, err = checks.ParsePattern(line)
		require.NoError(t, err)
	})
}
