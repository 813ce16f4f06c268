package api_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator/service"
)

// readEvent reads up to the blank line that ends an event, leaving comments out.
func readEvent(t *testing.T, r *bufio.Reader) []string {
	t.Helper()
	var lines []string
	for {
		text, err := r.ReadString('\n')
		require.NoError(t, err)
		text = strings.TrimRight(text, "\n")
		switch {
		case text == "" && len(lines) > 0:
			return lines
		case text != "" && !strings.HasPrefix(text, ":"):
			lines = append(lines, text)
		}
	}
}

func TestEventsAreStreamedWithTheirSequenceAndResumed(t *testing.T) {
	t.Parallel()
	f := &fake{events: make(chan service.Event)}
	res := ask(t, serve(t, f), http.MethodGet, "/v1/events?after=3", "", func(r *http.Request) { r.Header.Set("Last-Event-ID", "41") })
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	f.events <- service.Event{Seq: 42, Kind: "decided", Identity: "abc"}
	lines := readEvent(t, bufio.NewReader(res.Body))
	require.Equal(t, []string{"id: 42", "event: decided"}, lines[:2])
	require.Contains(t, lines[2], `"identity":"abc"`)
	require.EqualValues(t, 41, f.eventsFrom)
	close(f.events)
}

func TestEventStreamsAreBounded(t *testing.T) {
	t.Parallel()
	f := &fake{events: make(chan service.Event)}
	server := serve(t, f)
	first := ask(t, server, http.MethodGet, "/v1/events", "", nil)
	require.Equal(t, http.StatusOK, first.StatusCode)
	second := ask(t, server, http.MethodGet, "/v1/events", "", nil)
	require.Equal(t, http.StatusServiceUnavailable, second.StatusCode)
	require.Equal(t, "unavailable", problemOf(t, second).Code)
	close(f.events)
}

func TestAStreamThatCannotBeginGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	f := &fake{failure: &service.Error{Code: service.ErrNotFound, Message: "no such target"}}
	server := serve(t, f)
	for range 3 {
		require.Equal(t, http.StatusNotFound, ask(t, server, http.MethodGet, "/v1/events", "", nil).StatusCode)
	}
}
