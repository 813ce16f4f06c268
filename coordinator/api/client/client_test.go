package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/coordinator/api"
	"patchd/coordinator/api/client"
	"patchd/coordinator/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func answer(t *testing.T, w http.ResponseWriter, status int, v any) {
	t.Helper()
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		t.Error(err)
	}
}

func TestTheTokenIsSentOverTheUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.Host != api.SocketHost {
			t.Errorf("authorization %q, host %q", r.Header.Get("Authorization"), r.Host)
		}
		answer(t, w, http.StatusOK, api.TargetList{Targets: []service.Target{{Repo: "app"}}})
	}))
	require.NoError(t, server.Listener.Close())
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	targets, err := newClient(t, client.Options{Server: "unix:" + path, Token: "secret"}).Targets(t.Context())
	require.NoError(t, err)
	require.Equal(t, "app", targets[0].Repo)
}

func TestProblemsAreErrorsWithTheirCode(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, http.StatusConflict, api.Problem{Status: http.StatusConflict, Code: "ambiguous", Detail: "p-1 stands for 2 patches", Hint: "use one of: …"})
	}))
	t.Cleanup(server.Close)
	_, err := newClient(t, client.Options{Server: server.URL}).Patch(t.Context(), client.Place{}, "p/1")
	var p *api.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, "ambiguous", p.Code)
	require.ErrorContains(t, err, "use one of")
}

func TestARefusedAttemptIsAReceipt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		receipt := &service.Receipt{Refused: &service.RefusedAttempt{}}
		answer(t, w, http.StatusUnprocessableEntity, api.Problem{Status: http.StatusUnprocessableEntity, Code: "digest_mismatch", Receipt: receipt})
	}))
	t.Cleanup(server.Close)
	receipt, err := newClient(t, client.Options{Server: server.URL}).Submit(t.Context(), api.SubmitBody{}, false)
	require.NoError(t, err)
	require.NotNil(t, receipt.Refused)
}

// breaking answers 503 or breaks the connection before it answers.
func breaking(t *testing.T, times int32, seen *atomic.Int32) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := seen.Add(1)
		switch {
		case n > times:
			answer(t, w, http.StatusAccepted, service.Receipt{Identity: "abc"})
		case n%2 == 0:
			answer(t, w, http.StatusServiceUnavailable, api.Problem{Status: http.StatusServiceUnavailable, Code: "unavailable"})
		default:
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestASubmissionWithARequestKeyIsRepeatedWhileTheDaemonIsAway(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	server := breaking(t, 3, &seen)
	told := 0
	c := newClient(t, client.Options{Server: server.URL, Patience: time.Minute, Waiting: func(error) { told++ }})
	receipt, err := c.Submit(t.Context(), api.SubmitBody{}, true)
	require.NoError(t, err)
	require.EqualValues(t, "abc", receipt.Identity)
	require.EqualValues(t, 4, seen.Load())
	require.Equal(t, 3, told)
}

func TestASubmissionWithoutARequestKeyIsSentOnce(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	server := breaking(t, 3, &seen)
	_, err := newClient(t, client.Options{Server: server.URL, Patience: time.Minute}).Submit(t.Context(), api.SubmitBody{}, false)
	var away *client.UnreachableError
	require.ErrorAs(t, err, &away)
	require.ErrorContains(t, err, "patchd serve")
	require.EqualValues(t, 1, seen.Load())
}

func TestWaitGoesOnUntilDecidedAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p := service.Patch{State: service.StateDeciding}
		if seen.Add(1) == 3 {
			p.State = service.StateDecided
		}
		answer(t, w, http.StatusOK, p)
	}))
	t.Cleanup(server.Close)
	c := newClient(t, client.Options{Server: server.URL})
	p, err := c.Wait(t.Context(), client.Place{}, "abc")
	require.NoError(t, err)
	require.Equal(t, service.StateDecided, p.State)

	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = c.Wait(ctx, client.Place{}, "abc")
	require.ErrorIs(t, err, cause)
}

func TestAServerThatIsNoAddressIsRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost:7777", "ftp://x", "/run/patchd.sock"} {
		_, err := client.New(client.Options{Server: address})
		require.Error(t, err, address)
	}
}
