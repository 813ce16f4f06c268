package coordinator

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const (
	someOID    = "4f2c1d0000000000000000000000000000000001"
	someDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func manifestFields() map[string]any {
	return map[string]any{
		"patch_id": "p-204", "base_commit": someOID, "paths": []any{"b.go", "a.go"}, "owned_hunks": []any{}, "required_checks": []any{}, "diff_sha256": someDigest,
	}
}

func manifestJSON(t require.TestingT, change map[string]any) []byte {
	fields := manifestFields()
	maps.Copy(fields, change)
	for k, v := range fields {
		if v == "absent" {
			delete(fields, k)
		}
	}
	raw, err := json.Marshal(fields)
	require.NoError(t, err)
	return raw
}

func TestManifestFaultsAreNamed(t *testing.T) {
	t.Parallel()
	hunk := func(h map[string]any) map[string]any { return map[string]any{"owned_hunks": []any{h}} }
	for name, c := range map[string]struct {
		change map[string]any
		field  string
	}{
		"core field left out":         {map[string]any{"paths": "absent"}, "/paths"},
		"core field null":             {map[string]any{"owned_hunks": nil}, "/owned_hunks"},
		"label with a slash":          {map[string]any{"patch_id": "a/b"}, "/patch_id"},
		"label of 65 characters":      {map[string]any{"patch_id": strings.Repeat("a", 65)}, "/patch_id"},
		"abbreviated base":            {map[string]any{"base_commit": "4f2c1d"}, "/base_commit"},
		"upper-case base":             {map[string]any{"base_commit": strings.ToUpper(someOID)}, "/base_commit"},
		"digest of another length":    {map[string]any{"diff_sha256": "abc"}, "/diff_sha256"},
		"path named twice":            {map[string]any{"paths": []any{"a", "a"}}, "/paths/1"},
		"unknown field":               {map[string]any{"pathes": []any{}}, "/pathes"},
		"key that differs in case":    {map[string]any{"Title": "x"}, "/Title"},
		"wrong type":                  {map[string]any{"paths": "a.go"}, "/paths"},
		"line number zero":            {hunk(map[string]any{"path": "a.go", "start": 0, "end": 3}), "/owned_hunks/0/start"},
		"line number out of range":    {hunk(map[string]any{"path": "a.go", "start": 1, "end": int64(1) << 40}), "/owned_hunks/0/end"},
		"line number with a fraction": {hunk(map[string]any{"path": "a.go", "start": 1.5, "end": 2}), "/owned_hunks/0/start"},
		"end before start":            {hunk(map[string]any{"path": "a.go", "start": 5, "end": 3}), "/owned_hunks/0/end"},
		"check with a newline":        {map[string]any{"required_checks": []any{"go test\nrm"}}, "/required_checks/0"},
		"check for a shell":           {map[string]any{"required_checks": []any{"a && b"}}, "/required_checks/0"},
		"title of two lines":          {map[string]any{"title": "a\nb"}, "/title"},
		"title like a trailer":        {map[string]any{"title": "patch-identity: x"}, "/title"},
		"body with a trailer":         {map[string]any{"message": "text\n\nRequired-Check: rm -rf /"}, "/message"},
		"body with an escape":         {map[string]any{"message": "a\x1b[31m"}, "/message"},
		"body that turns direction":   {map[string]any{"message": "a\u202eb"}, "/message"},
		"author that ends the header": {map[string]any{"author": map[string]any{"name": "a <b>", "email": "c@d"}}, "/author/name"},
		"author date of no calendar":  {map[string]any{"author": map[string]any{"name": "a", "email": "c@d", "date": "yesterday"}}, "/author/date"},
		"target like an option":       {map[string]any{"target": "--exec"}, "/target"},
		"target with two dots":        {map[string]any{"target": "a..b"}, "/target"},
		"on_conflict of another kind": {map[string]any{"on_conflict": "retry"}, "/on_conflict"},
		"dependency of no form":       {map[string]any{"depends_on": []any{"../x"}}, "/depends_on/0"},
		"metadata that is a list":     {map[string]any{"metadata": []any{}}, "/metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseManifest(manifestJSON(t, c.change))
			var r *Refusal
			require.ErrorAs(t, err, &r)
			require.Equal(t, CodeManifestMalformed, r.Code)
			require.Equal(t, c.field, r.Field, r.Message)
		})
	}
}

func TestManifestRefusesJSONThatReadersDisagreeOn(t *testing.T) {
	t.Parallel()
	good := string(manifestJSON(t, nil))
	for name, raw := range map[string]string{
		"duplicate key":      strings.Replace(good, `{`, `{"patch_id":"other",`, 1),
		"second document":    good + good,
		"text behind":        good + "x",
		"bad UTF-8":          strings.Replace(good, "p-204", "p\xff", 1),
		"lone surrogate":     strings.Replace(good, "b.go", `\ud800`, 1),
		"byte order mark":    "\ufeff" + good,
		"deep nesting":       strings.Replace(good, `{`, `{"metadata":`+strings.Repeat(`{"a":`, 40)+"1"+strings.Repeat("}", 40)+",", 1),
		"no object":          "[]",
		"nothing":            "",
		"larger than 1 MiB":  strings.Replace(good, `{`, `{"metadata":{"a":"`+strings.Repeat("x", MaxManifest)+`"},`, 1),
		"number of no range": strings.Replace(good, `"owned_hunks":[]`, `"owned_hunks":[{"path":"a","start":1,"end":1e999}]`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseManifest([]byte(raw))
			var r *Refusal
			require.ErrorAs(t, err, &r)
			require.Equal(t, CodeManifestMalformed, r.Code)
		})
	}
}

func TestIdentityIsWhatThePatchIs(t *testing.T) {
	t.Parallel()
	id := func(change map[string]any) Identity {
		m, err := ParseManifest(manifestJSON(t, change))
		require.NoError(t, err)
		id, err := m.Identity()
		require.NoError(t, err)
		return id
	}
	same := map[string]map[string]any{
		"label":            {"patch_id": "other"},
		"request key":      {"client_request_id": "k"},
		"on_conflict":      {"on_conflict": "merge"},
		"metadata":         {"metadata": map[string]any{"agent": "x"}},
		"order of paths":   {"paths": []any{"a.go", "b.go"}},
		"default target":   {"target": "main"},
		"default in full":  {"target": "refs/heads/main"},
		"empty list":       {"depends_on": []any{}},
		"empty title":      {"title": ""},
		"empty on_confict": {"on_conflict": "fail"},
	}
	for name, change := range same {
		require.Equal(t, id(nil), id(change), name)
	}
	other := []map[string]any{
		{"base_commit": strings.Repeat("a", 40)},
		{"paths": []any{"a.go"}},
		{"diff_sha256": strings.Repeat("a", 64)},
		{"title": "t"},
		{"message": "b"},
		{"target": "next"},
		{"repo": "r"},
		{"depends_on": []any{"x"}},
		{"supersedes": []any{"x"}},
		{"required_checks": []any{"true"}},
		{"author": map[string]any{"name": "a", "email": "b"}},
		{"owned_hunks": []any{map[string]any{"path": "a.go", "start": 1, "end": 2}}},
	}
	seen := []Identity{id(nil)}
	for _, change := range other {
		require.NotContains(t, seen, id(change), change)
		seen = append(seen, id(change))
	}
	spelt := func(line string) Identity { return id(map[string]any{"required_checks": []any{line}}) }
	require.Equal(t, spelt("go test ./..."), spelt(`go  test './...'`), "two spellings of one command")
	at := func(date string) Identity {
		return id(map[string]any{"author": map[string]any{"name": "a", "email": "b", "date": date}})
	}
	require.Equal(t, at("2026-01-02T03:04:05Z"), at("2026-01-02T05:04:05.9+02:00"), "one second in two zones")
}

func TestIdentityDoesNotDependOnTheOrderOfMembers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields := manifestFields()
		keys := rapid.Permutation(slices.Sorted(maps.Keys(fields))).Draw(t, "keys")
		var b strings.Builder
		for i, k := range keys {
			v, err := json.Marshal(fields[k])
			require.NoError(t, err)
			b.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + `"` + k + `":` + string(v))
		}
		m, err := ParseManifest([]byte(b.String() + "}"))
		require.NoError(t, err)
		got, err := m.Identity()
		require.NoError(t, err)
		want, err := ParseManifest(manifestJSON(t, nil))
		require.NoError(t, err)
		wantID, err := want.Identity()
		require.NoError(t, err)
		require.Equal(t, wantID, got)
	})
}

func TestDigestMismatchRefusesTheAttempt(t *testing.T) {
	t.Parallel()
	_, err := Admit(manifestJSON(t, nil), []byte("not empty"))
	var r *Refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, CodeDigestMismatch, r.Code)
	require.Equal(t, someDigest, r.Value)
	require.True(t, RefusesAttempt(r.Code))
	s, err := Admit(manifestJSON(t, nil), nil)
	require.NoError(t, err, "the digest is that of no bytes")
	require.NotEmpty(t, s.Identity)
}
