package service_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/coordinator/service"
	"patchd/coordinator/service/webhook"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

func TestRoundsSealAndLandByThemselvesWhereThePolicySaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("policy", gittest.Tree{".patchd.yml": "version: 1\nrounds: {auto_seal: true, auto_land: true, settle: 50ms}\n", "README": "start\n"})
	one, two := w.Change(base, gittest.Tree{"one": "1\n"}), w.Change(base, gittest.Tree{"two": "2\n"})
	w.open()
	w.run()
	w.submit(w.submission(base, one, map[string]any{"patch_id": "one"}))
	w.submit(w.submission(base, two, map[string]any{"patch_id": "two"}))
	landed := func(label string) bool {
		p, err := w.svc.Patch(t.Context(), "", "", label)
		return err == nil && p.State == service.StateLanded
	}
	require.Eventually(t, func() bool { return landed("one") && landed("two") }, time.Minute, 10*time.Millisecond)
	rounds, err := w.svc.Rounds(t.Context(), "", "", 0, 10)
	require.NoError(t, err)
	for _, r := range rounds {
		require.Equal(t, "auto_seal", r.By)
		require.Equal(t, "landed", r.Status)
	}
	w.verified()
}

func TestNothingSealsByItselfWithoutThePolicy(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Git("rev-parse", "main")
	w.decided(w.submission(base, w.Change(base, gittest.Tree{"one": "1\n"}), nil))
	w.restart()
	require.Empty(t, w.entries("seal_requested"))
}

// receiver is a webhook's other end: it refuses every delivery once before it takes it.
type receiver struct {
	t      *testing.T
	secret []byte
	mu     sync.Mutex
	tries  map[string]int
	got    []service.Delivery
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = webhook.Verify(r.secret, req.Header, body, clock()())
	}
	var d service.Delivery
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.tries[d.ID]++; {
	case err != nil || d.ID != req.Header.Get(webhook.HeaderDelivery):
		r.t.Errorf("delivery %q: %v", d.ID, err)
	case r.tries[d.ID] == 1:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		r.got = append(r.got, d)
	}
}

func (r *receiver) kinds() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{}
	for _, d := range r.got {
		out[d.Kind]++
	}
	return out
}

func TestWebhooksTellSignedOfDecisionsRoundsAndLandingsUntilTheyAreTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := &receiver{t: t, secret: []byte("0123456789abcdef"), tries: map[string]int{}}
	server := httptest.NewServer(other)
	t.Cleanup(server.Close)
	w.config.Webhook = webhook.Config{URL: server.URL, Secret: other.secret}
	w.open()
	w.run()
	base := w.Git("rev-parse", "main")
	p := w.decided(w.submission(base, w.Change(base, gittest.Tree{"one": "1\n"}), nil))
	r := w.sealed()
	w.land(r.Number)
	w.restart() // what is not delivered yet goes on afterwards, and nothing is queued twice
	require.Eventually(t, func() bool { k := other.kinds(); return k["decided"] == 1 && k["round_ready"] == 1 && k["landed"] == 1 }, time.Minute, 20*time.Millisecond)
	other.mu.Lock()
	defer other.mu.Unlock()
	for _, d := range other.got {
		if d.Kind == "landed" {
			require.Contains(t, d.Identities, p.Identity)
			require.Equal(t, r.Number, d.Round)
			require.EqualValues(t, w.Git("rev-parse", "main"), d.Commit)
		}
	}
}

func TestPacksAreGatheredWhereThereAreTooMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repo, err := git.Open(t.Context(), w.Dir(), git.Options{Scratch: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, repo.Close()) }()
	var last git.OID
	for i := range 60 {
		objects := git.NewOverlay(repo)
		last = objects.PutBlob(fmt.Appendf(nil, "pack %d\n", i))
		require.NoError(t, repo.WritePack(t.Context(), objects.Objects()))
	}
	before, err := repo.Packs()
	require.NoError(t, err)
	require.Greater(t, before, 50)
	w.config.HousekeepInterval = 20 * time.Millisecond
	w.open()
	w.run()
	require.Eventually(t, func() bool { n, err := repo.Packs(); return err == nil && n < 5 }, time.Minute, 20*time.Millisecond)
	require.Equal(t, "pack 59", w.Git("cat-file", "blob", string(last)))
	w.Git("fsck", "--strict", "--no-dangling")
}
