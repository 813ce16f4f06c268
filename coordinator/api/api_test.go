package api_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/coordinator"
	"patchd/coordinator/api"
	"patchd/coordinator/service"
)

var update = flag.Bool("update", false, "write testdata/openapi.json anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func problemOf(t *testing.T, res reply) api.Problem {
	t.Helper()
	require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
	var p api.Problem
	require.NoError(t, json.NewDecoder(res.Body).Decode(&p))
	require.Equal(t, res.StatusCode, p.Status)
	return p
}

func TestEveryOperationNeedsACredentialWithItsScope(t *testing.T) {
	t.Parallel()
	server := serve(t, &fake{patch: &service.Patch{}})
	operations := []struct{ method, path, scope string }{
		{"POST", "/v1/patches", "submit"},
		{"GET", "/v1/patches", "read"},
		{"GET", "/v1/patches/x", "read"},
		{"GET", "/v1/patches/x/wait", "read"},
		{"POST", "/v1/patches/x/withdraw", "submit"},
		{"POST", "/v1/patches/x/resolve", "resolve"},
		{"GET", "/v1/patches/x/merge", "read"},
		{"POST", "/v1/rounds", "land"},
		{"GET", "/v1/rounds", "read"},
		{"GET", "/v1/rounds/1", "read"},
		{"GET", "/v1/rounds/latest/wait", "read"},
		{"POST", "/v1/rounds/1/land", "land"},
		{"POST", "/v1/targets/pause", "land"},
		{"POST", "/v1/targets/drain", "land"},
		{"POST", "/v1/targets/resume", "land"},
		{"GET", "/v1/state", "read"},
		{"GET", "/v1/targets", "read"},
		{"GET", "/v1/log", "read"},
		{"GET", "/v1/verify", "read"},
		{"GET", "/v1/contents/" + strings.Repeat("0", 64), "read"},
		{"GET", "/v1/events", "read"},
		{"POST", "/v1/tokens", "admin"},
		{"GET", "/v1/tokens", "admin"},
		{"DELETE", "/v1/tokens/x", "admin"},
	}
	for _, op := range operations {
		none := ask(t, server, op.method, op.path, "", func(r *http.Request) { r.Header.Del("Authorization") })
		require.Equal(t, http.StatusUnauthorized, none.StatusCode, op.path)
		require.NotEmpty(t, none.Header.Get("WWW-Authenticate"))
		require.Equal(t, "unauthorized", problemOf(t, none).Code)

		unknown := ask(t, server, op.method, op.path, "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer other") })
		require.Equal(t, http.StatusUnauthorized, unknown.StatusCode, op.path)

		if op.scope == "read" {
			continue // every known credential may read
		}
		weak := ask(t, server, op.method, op.path, "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer scopes:read") })
		require.Equal(t, http.StatusForbidden, weak.StatusCode, op.path)
		p := problemOf(t, weak)
		require.Equal(t, "forbidden", p.Code)
		require.Contains(t, p.Detail, op.scope)
	}
}

func TestForeignHostAndOriginAreForbidden(t *testing.T) {
	t.Parallel()
	server := serve(t, &fake{})
	cases := []struct {
		name   string
		mutate func(*http.Request)
		status int
	}{
		{"own address", nil, http.StatusOK},
		{"localhost", func(r *http.Request) { r.Host = "localhost:99" }, http.StatusOK},
		{"ip address", func(r *http.Request) { r.Host = "[::1]:99" }, http.StatusOK},
		{"named by configuration", func(r *http.Request) { r.Host = "patchd.example" }, http.StatusOK},
		{"rebound name", func(r *http.Request) { r.Host = "evil.example:99" }, http.StatusForbidden},
		{"foreign origin", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		{"opaque origin", func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
		{"own origin", func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }, http.StatusOK},
	}
	for _, c := range cases {
		res := ask(t, server, http.MethodGet, "/v1/targets", "", c.mutate)
		require.Equal(t, c.status, res.StatusCode, c.name)
	}
	res := ask(t, server, http.MethodPost, "/v1/patches", "{}", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	require.Equal(t, http.StatusForbidden, res.StatusCode)
}

func submitJSON(t *testing.T, manifest any, diff string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"manifest": manifest, "diff": base64.StdEncoding.EncodeToString([]byte(diff))})
	require.NoError(t, err)
	return string(body)
}

func TestSubmitPassesTheExactBytesOn(t *testing.T) {
	t.Parallel()
	f := &fake{receipt: &service.Receipt{Identity: "abc"}}
	server := serve(t, f)
	diff := "--- a/x\r\n+++ b/x\x00\xff\n"
	text := `{"patch_id" : "p",  "patch_id": "q"}`
	require.Equal(t, http.StatusAccepted, ask(t, server, http.MethodPost, "/v1/patches", submitJSON(t, text, diff), nil).StatusCode)
	require.Equal(t, http.StatusAccepted, ask(t, server, http.MethodPost, "/v1/patches", submitJSON(t, json.RawMessage(`{"a":1}`), diff), nil).StatusCode)
	require.Equal(t, text, string(f.submitted[0].Manifest), "a manifest sent as a string arrives as it is, doubled keys and all")
	require.JSONEq(t, `{"a":1}`, string(f.submitted[1].Manifest))
	require.Equal(t, diff, string(f.submitted[0].Diff))
	require.Equal(t, "tester", f.submitted[0].Credential.Name)
}

func TestADecisionThatIsKnownAnswersWithOK(t *testing.T) {
	t.Parallel()
	server := serve(t, &fake{receipt: &service.Receipt{Outcome: coordinator.OutcomeCandidate, Deduplicated: true}})
	res := ask(t, server, http.MethodPost, "/v1/patches", submitJSON(t, "{}", ""), nil)
	require.Equal(t, http.StatusOK, res.StatusCode)
}

func TestARefusedAttemptIsAProblemThatCarriesItsReceipt(t *testing.T) {
	t.Parallel()
	for code, status := range map[coordinator.Code]int{
		coordinator.CodeManifestMalformed:  http.StatusUnprocessableEntity,
		coordinator.CodeDigestMismatch:     http.StatusUnprocessableEntity,
		coordinator.CodeRequestKeyConflict: http.StatusConflict,
	} {
		refused := &service.RefusedAttempt{Message: coordinator.Message{Code: code, Field: "/title", Text: "what", Hint: "do"}}
		server := serve(t, &fake{receipt: &service.Receipt{AttemptID: 7, Refused: refused}})
		res := ask(t, server, http.MethodPost, "/v1/patches", submitJSON(t, "{}", ""), nil)
		require.Equal(t, status, res.StatusCode)
		p := problemOf(t, res)
		require.Equal(t, string(code), p.Code)
		require.Equal(t, "/title", p.Field)
		require.Equal(t, "do", p.Hint)
		require.EqualValues(t, 7, p.Receipt.AttemptID)
	}
}

func TestErrorsOfTheServiceKeepCodeAndField(t *testing.T) {
	t.Parallel()
	for code, status := range map[service.ErrorCode]int{
		service.ErrNotFound: 404, service.ErrAmbiguous: 409, service.ErrStale: 409, service.ErrInvalid: 422, service.ErrForbidden: 403,
		service.ErrUnauthorized: 401, service.ErrTooLarge: 413, service.ErrUnavailable: 503,
	} {
		server := serve(t, &fake{failure: &service.Error{Code: code, Field: "target", Message: "what", Hint: "do"}})
		res := ask(t, server, http.MethodGet, "/v1/targets", "", nil)
		require.Equal(t, status, res.StatusCode)
		p := problemOf(t, res)
		require.Equal(t, []string{string(code), "target", "what", "do"}, []string{p.Code, p.Field, p.Detail, p.Hint})
	}
	nothing := problemOf(t, ask(t, serve(t, &fake{}), http.MethodGet, "/v2/nothing", "", nil))
	require.Equal(t, "not_found", nothing.Code)

	server := serve(t, &fake{failure: errors.New("a secret of the database")})
	res := ask(t, server, http.MethodGet, "/v1/targets", "", nil)
	require.Equal(t, http.StatusInternalServerError, res.StatusCode)
	require.NotContains(t, problemOf(t, res).Detail, "secret")
}

func TestBadRequestsAreProblemsThatNameTheField(t *testing.T) {
	t.Parallel()
	server := serve(t, &fake{})
	res := ask(t, server, http.MethodPost, "/v1/patches", `{"manifest": {}, "diff": 5}`, nil)
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode)
	p := problemOf(t, res)
	require.Equal(t, "invalid", p.Code)
	require.Contains(t, p.Field, "diff")

	res = ask(t, server, http.MethodPost, "/v1/patches", `{"manifest": {}, "diff": "", "other": 1}`, nil)
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode)
	require.Contains(t, problemOf(t, res).Field, "other")

	res = ask(t, server, http.MethodPost, "/v1/patches/x/withdraw", `{"why": "`+strings.Repeat("x", 70_000)+`"}`, nil)
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
	require.Equal(t, "too_large", problemOf(t, res).Code)
}

func TestKeyAndPlaceReachTheService(t *testing.T) {
	t.Parallel()
	f := &fake{patch: &service.Patch{State: service.StateDecided}}
	server := serve(t, f)
	const query = "?repo=app&target=main"
	require.Equal(t, http.StatusOK, ask(t, server, http.MethodGet, "/v1/patches/a%2Fb"+query, "", nil).StatusCode)
	require.Equal(t, http.StatusOK, ask(t, server, http.MethodGet, "/v1/patches/p-1/wait"+query, "", nil).StatusCode)
	require.Equal(t, http.StatusOK, ask(t, server, http.MethodPost, "/v1/patches/p-1/withdraw"+query, `{"why": "done"}`, nil).StatusCode)
	require.Equal(t, []string{"app refs/heads/main a/b", "app refs/heads/main p-1", "app refs/heads/main p-1 done tester"}, f.asked)
}

func TestWaitAnswersWithTheDecisionOrAfterItsTime(t *testing.T) {
	t.Parallel()
	f := &fake{patch: &service.Patch{Identity: "abc", State: service.StateDeciding}, waitFor: make(chan struct{})}
	server := serve(t, f)
	var p service.Patch
	res := ask(t, server, http.MethodGet, "/v1/patches/abc/wait?timeout=10ms", "", nil)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.NoError(t, json.NewDecoder(res.Body).Decode(&p))
	require.Equal(t, service.StateDeciding, p.State)

	close(f.waitFor)
	res = ask(t, server, http.MethodGet, "/v1/patches/abc/wait", "", nil)
	require.NoError(t, json.NewDecoder(res.Body).Decode(&p))
	require.Equal(t, service.StateDecided, p.State)
}

func TestLogSaysWhereToGoOn(t *testing.T) {
	t.Parallel()
	server := serve(t, &fake{})
	var list api.EntryList
	require.NoError(t, json.NewDecoder(ask(t, server, http.MethodGet, "/v1/log?from=2&limit=2", "", nil).Body).Decode(&list))
	require.Len(t, list.Entries, 2)
	require.EqualValues(t, 4, list.Next)
	list = api.EntryList{}
	require.NoError(t, json.NewDecoder(ask(t, server, http.MethodGet, "/v1/log?from=4&limit=200", "", nil).Body).Decode(&list))
	require.Len(t, list.Entries, 2)
	require.Zero(t, list.Next)
}

func TestKeptBytesAreSavedAndNeverShown(t *testing.T) {
	t.Parallel()
	server := serve(t, &fake{content: []byte("<script>\x00\xff")})
	res := ask(t, server, http.MethodGet, "/v1/contents/"+strings.Repeat("a", 64), "", nil)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "<script>\x00\xff", string(body))
	require.Equal(t, "application/octet-stream", res.Header.Get("Content-Type"))
	require.Equal(t, "attachment", res.Header.Get("Content-Disposition"))
	require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
}

func TestProbesNeedNoToken(t *testing.T) {
	t.Parallel()
	bare := func(r *http.Request) { r.Header.Del("Authorization") }
	server := serve(t, &fake{})
	require.Equal(t, http.StatusOK, ask(t, server, http.MethodGet, "/healthz", "", bare).StatusCode)
	require.Equal(t, http.StatusOK, ask(t, server, http.MethodGet, "/readyz", "", bare).StatusCode)
	starting := serve(t, &fake{notReady: &service.Error{Code: service.ErrUnavailable, Message: "starting"}})
	require.Equal(t, http.StatusOK, ask(t, starting, http.MethodGet, "/healthz", "", bare).StatusCode)
	require.Equal(t, http.StatusServiceUnavailable, ask(t, starting, http.MethodGet, "/readyz", "", bare).StatusCode)
}

// The committed description is what clients are generated from: a change of it is a change of the interface, and is to be
// seen in review. `go test ./coordinator/api -run OpenAPI -update` writes it anew.
func TestOpenAPIDescriptionIsTheCommittedOne(t *testing.T) {
	t.Parallel()
	res := ask(t, serve(t, &fake{}), http.MethodGet, "/openapi.json", "", func(r *http.Request) { r.Header.Del("Authorization") })
	require.Equal(t, http.StatusOK, res.StatusCode)
	var doc any
	require.NoError(t, json.NewDecoder(res.Body).Decode(&doc))
	got, err := json.MarshalIndent(doc, "", "  ")
	require.NoError(t, err)
	got = append(got, '\n')
	const path = "testdata/openapi.json"
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
