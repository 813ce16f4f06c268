package webhook_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/coordinator/service/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func at(seconds int64) func() time.Time { return func() time.Time { return time.Unix(seconds, 0) } }

const secret = "0123456789abcdef"

// The golden value is HMAC-SHA256 as RFC 2104 defines it, made with openssl:
//
//	printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef
func TestTheSignatureIsHMACOfTimestampAndBody(t *testing.T) {
	t.Parallel()
	require.Equal(t, "v1=9eb18f493f8ec135d9eb2dad817c369bb4e9cbfa818657897a7437c1cd8c3a23", webhook.Sign([]byte(secret), "1700000000", []byte(`{"a":1}`)))
}

func TestADeliveryVerifiesAndAnyChangeOfItDoesNot(t *testing.T) {
	t.Parallel()
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	s, err := webhook.New(webhook.Config{URL: server.URL, Secret: []byte(secret)}, at(1_700_000_000))
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Send(t.Context(), "app/main/7", "landed", []byte(`{"seq":7}`)))
	require.Equal(t, "app/main/7", header.Get(webhook.HeaderDelivery))
	require.Equal(t, "landed", header.Get(webhook.HeaderEvent))
	now := time.Unix(1_700_000_030, 0)
	require.NoError(t, webhook.Verify([]byte(secret), header, body, now))
	require.Error(t, webhook.Verify([]byte("another secret...."), header, body, now))
	require.Error(t, webhook.Verify([]byte(secret), header, append(body, ' '), now))
	require.Error(t, webhook.Verify([]byte(secret), header, body, now.Add(time.Hour)), "an old delivery is played back")
	replayed := header.Clone()
	replayed.Set(webhook.HeaderTimestamp, "1700003600")
	require.Error(t, webhook.Verify([]byte(secret), replayed, body, now.Add(time.Hour)), "the timestamp is signed, too")
}

func TestOnlyAnAnswerOfSuccessTakesADelivery(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusFound, http.StatusForbidden, http.StatusInternalServerError} {
		server := httptest.NewServer(http.RedirectHandler("/elsewhere", status))
		s, err := webhook.New(webhook.Config{URL: server.URL, Secret: []byte(secret)}, at(0))
		require.NoError(t, err)
		err = s.Send(t.Context(), "1", "landed", nil)
		var refused *webhook.StatusError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, status, refused.Status)
		s.Close()
		server.Close()
	}
}

func TestNothingIsSentUnencryptedToOthersUnlessAllowed(t *testing.T) {
	t.Parallel()
	for url, good := range map[string]bool{
		"https://ci.example/hook": true, "http://127.0.0.1:80/x": true, "http://localhost/x": true, "http://[::1]/x": true,
		"http://ci.example/hook": false, "ftp://ci.example": false, "ci.example": false, "https://user:pass@ci.example": false, "": false,
	} {
		_, err := webhook.New(webhook.Config{URL: url, Secret: []byte(secret)}, at(0))
		require.Equal(t, good, err == nil, "%s: %v", url, err)
	}
	_, err := webhook.New(webhook.Config{URL: "http://ci.example/hook", Secret: []byte(secret), AllowHTTP: true}, at(0))
	require.NoError(t, err)
	_, err = webhook.New(webhook.Config{URL: "https://ci.example", Secret: []byte("short")}, at(0))
	require.ErrorContains(t, err, "bytes")
}

func TestAReceiverThatIsAwayIsAnErrorWithoutItsAddress(t *testing.T) {
	t.Parallel()
	s, err := webhook.New(webhook.Config{URL: "http://127.0.0.1:1/secret-path", Secret: []byte(secret)}, at(0))
	require.NoError(t, err)
	defer s.Close()
	err = s.Send(context.WithoutCancel(t.Context()), "1", "landed", nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret-path")
}
