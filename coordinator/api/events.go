package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"patchd/coordinator/service"
)

// Times of an event stream: how often a silent one shows that it lives, and how long a client may take to read.
const (
	heartbeat    = 15 * time.Second
	writeTimeout = 10 * time.Second
)

type eventsInput struct {
	Place
	After       int64 `query:"after" doc:"only events after this sequence number" minimum:"0"`
	LastEventID int64 `header:"Last-Event-ID" doc:"the same, as browsers send it when they reconnect" minimum:"0"` //nolint:tagliatelle // the header's own spelling
}

func (f *face) registerEvents(api huma.API) {
	op := operation("stream-events", http.MethodGet, "/v1/events", "Follow a target as server-sent events", service.ScopeRead)
	op.Description = "Each event's id is the ledger's sequence number: send the last one as Last-Event-ID to resume without a gap. A client that does not read is cut off; too many streams at once are refused with 503."
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Events whose data is a JSON object",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[service.Event](), true, "Event")}},
	}}
	huma.Register(api, op, f.events)
}

func (f *face) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	select {
	case f.streams <- struct{}{}:
	default:
		return nil, problem(http.StatusServiceUnavailable, string(service.ErrUnavailable), "", "too many event streams are open", "close one, or ask for /v1/log")
	}
	streaming, cancel := context.WithCancel(ctx)
	events, err := f.service.Events(streaming, in.Repo, in.ref(), max(in.After, in.LastEventID))
	if err != nil {
		cancel()
		<-f.streams
		return nil, f.fail(ctx, err)
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		defer func() { cancel(); <-f.streams }()
		_, w := humago.Unwrap(hctx)
		f.stream(streaming, w, events)
	}}, nil
}

// stream writes events until the client leaves, stops reading, or the source ends.
func (f *face) stream(ctx context.Context, w http.ResponseWriter, events <-chan service.Event) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	err := f.send(w, out, []byte(": connected\n\n"))
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			err = f.send(w, out, []byte(": alive\n\n"))
		case e, open := <-events:
			if !open {
				return
			}
			err = f.sendEvent(w, out, e)
		}
	}
	f.logger.DebugContext(ctx, "event stream ended", "error", err)
}

// sendEvent writes one event; its id is the sequence number to resume from.
func (f *face) sendEvent(w http.ResponseWriter, out *http.ResponseController, e service.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("marshal event: %w", err)
	}
	return f.send(w, out, fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, data))
}

// send writes and flushes within the time that a client has to read.
func (f *face) send(w http.ResponseWriter, out *http.ResponseController, data []byte) error {
	if err := out.SetWriteDeadline(f.clock().Add(writeTimeout)); err != nil {
		return fmt.Errorf("set write deadline: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}
