package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/api"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

func decoded[T any](t *testing.T, r reply) T {
	t.Helper()
	var v T
	require.NoError(t, json.NewDecoder(r.Body).Decode(&v))
	return v
}

func TestSealPassesKeysAndCredentialOn(t *testing.T) {
	t.Parallel()
	f := &fake{round: &service.Round{Number: 3, Status: "sealing"}}
	server := serve(t, f)
	res := ask(t, server, http.MethodPost, "/v1/rounds?repo=app&target=main", `{"patches": ["p-1", "p-2"]}`, nil)
	require.Equal(t, http.StatusCreated, res.StatusCode)
	require.EqualValues(t, 3, decoded[service.Round](t, res).Number)
	require.Equal(t, http.StatusCreated, ask(t, server, http.MethodPost, "/v1/rounds", "{}", nil).StatusCode)
	require.Equal(t, []string{"app refs/heads/main [p-1 p-2] tester", "  [] tester"}, f.asked)
}

func TestLatestStandsForTheNewestRound(t *testing.T) {
	t.Parallel()
	f := &fake{round: &service.Round{Number: 7, Status: "ready"}}
	server := serve(t, f)
	require.Equal(t, http.StatusOK, ask(t, server, http.MethodGet, "/v1/rounds/latest", "", nil).StatusCode)
	require.Equal(t, http.StatusOK, ask(t, server, http.MethodPost, "/v1/rounds/latest/land", "", nil).StatusCode)
	require.Equal(t, http.StatusOK, ask(t, server, http.MethodPost, "/v1/rounds/5/land", "", nil).StatusCode)
	require.Equal(t, []string{"round 0", "round 0", "land 7 tester", "land 5 tester"}, f.asked)
	for _, number := range []string{"0", "-1", "x", "99999999999999999999"} {
		require.Equal(t, http.StatusUnprocessableEntity, ask(t, server, http.MethodGet, "/v1/rounds/"+number, "", nil).StatusCode, number)
	}
}

func TestWaitingForARoundEndsWhenItIsReadyOrAfterItsTime(t *testing.T) {
	t.Parallel()
	f := &fake{round: &service.Round{Number: 2, Status: "checking"}, waitFor: make(chan struct{})}
	server := serve(t, f)
	require.Equal(t, "checking", decoded[service.Round](t, ask(t, server, http.MethodGet, "/v1/rounds/2/wait?timeout=10ms", "", nil)).Status)
	close(f.waitFor)
	require.Equal(t, "ready", decoded[service.Round](t, ask(t, server, http.MethodGet, "/v1/rounds/2/wait", "", nil)).Status)
	require.Equal(t, http.StatusUnprocessableEntity, ask(t, server, http.MethodGet, "/v1/rounds/2/wait?timeout=soon", "", nil).StatusCode)
}

func TestRoundsArePagedFromTheNewest(t *testing.T) {
	t.Parallel()
	server := serve(t, &fake{})
	list := decoded[api.RoundList](t, ask(t, server, http.MethodGet, "/v1/rounds?before=5&limit=2", "", nil))
	require.Len(t, list.Rounds, 2)
	require.EqualValues(t, 3, list.Next)
	list = decoded[api.RoundList](t, ask(t, server, http.MethodGet, "/v1/rounds?before=3&limit=2", "", nil))
	require.Len(t, list.Rounds, 2)
	require.Zero(t, list.Next)
}

func TestALandingThatCannotBeIsAConflict(t *testing.T) {
	t.Parallel()
	f := &fake{failure: &service.Error{Code: service.ErrStale, Field: "round", Message: "round 4 is superseded", Hint: "seal another round"}}
	res := ask(t, serve(t, f), http.MethodPost, "/v1/rounds/4/land", "", nil)
	require.Equal(t, http.StatusConflict, res.StatusCode)
	require.Equal(t, "stale", problemOf(t, res).Code)
}

func TestPauseDrainAndResumeAnswerWithTheTarget(t *testing.T) {
	t.Parallel()
	f := &fake{targets: []service.Target{{Repo: "app", Ref: "refs/heads/next"}, {Repo: "app", Ref: "refs/heads/main", Paused: true}}}
	server := serve(t, f)
	for _, what := range []string{"pause", "drain", "resume"} {
		res := ask(t, server, http.MethodPost, "/v1/targets/"+what+"?target=main", "", nil)
		require.Equal(t, http.StatusOK, res.StatusCode, what)
		require.EqualValues(t, "refs/heads/main", decoded[service.Target](t, res).Ref)
	}
	require.Equal(t, []string{"pause refs/heads/main false tester", "pause refs/heads/main true tester", "resume refs/heads/main tester"}, f.asked)
}

func TestAResolutionReachesTheServiceWhole(t *testing.T) {
	t.Parallel()
	f := &fake{patch: &service.Patch{}}
	server := serve(t, f)
	tree := strings.Repeat("a", 40)
	body := `{"action": "accept", "why": "looked at it", "expected_version": 12, "with": ["p-2"], "command": "make test", "tree": "` + tree + `"}`
	require.Equal(t, http.StatusOK, ask(t, server, http.MethodPost, "/v1/patches/p-1/resolve?target=main", body, nil).StatusCode)
	got := f.resolved[0]
	require.Equal(t, "tester", got.By.Name)
	got.By = service.Credential{}
	require.Equal(t, service.ResolveRequest{
		Target: "refs/heads/main", Key: "p-1", Action: coordinator.ActionAccept, ExpectedVersion: 12, With: []string{"p-2"}, Command: "make test", Tree: git.OID(tree), Why: "looked at it",
	}, got)
	for _, bad := range []string{`{"action": "accept"}`, `{"action": "shrug", "why": "x"}`, `{"action": "accept", "why": "x", "tree": "abc"}`} {
		require.Equal(t, http.StatusUnprocessableEntity, ask(t, server, http.MethodPost, "/v1/patches/p-1/resolve", bad, nil).StatusCode, bad)
	}
}

func TestMergeCandidateAndStateAreShown(t *testing.T) {
	t.Parallel()
	f := &fake{}
	server := serve(t, f)
	require.Equal(t, "merge-candidate", decoded[service.MergeCandidate](t, ask(t, server, http.MethodGet, "/v1/patches/p-1/merge?with=p-2", "", nil)).Status)
	require.Equal(t, []string{"  p-1 p-2"}, f.asked)
	require.EqualValues(t, "abc", decoded[coordinator.State](t, ask(t, server, http.MethodGet, "/v1/state", "", nil)).StateDigest)
}
