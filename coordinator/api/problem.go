package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"patchd/coordinator"
	"patchd/coordinator/service"
)

// Problem is an error as RFC 9457 writes it. Code is one of the service's or the protocol's; Field names the request field at
// fault, as a JSON pointer where it lies in the manifest; Receipt is the recorded attempt where a submission was refused.
type Problem struct { //nolint:errname // the term of RFC 9457
	Type    string           `json:"type"`
	Title   string           `json:"title"`
	Status  int              `json:"status"`
	Code    string           `json:"code"`
	Detail  string           `json:"detail"`
	Field   string           `json:"field,omitempty"`
	Value   string           `json:"value,omitempty"`
	Hint    string           `json:"hint,omitempty"`
	Receipt *service.Receipt `json:"receipt,omitempty"`
}

// Error says what is wrong and what to do.
func (p *Problem) Error() string {
	s := p.Detail
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// GetStatus is the HTTP status; the framework asks for it.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is the media type of problems whatever was negotiated.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// CodeInternal is the code of failures that are nobody's request's fault.
const CodeInternal = "internal"

func problem(status int, code, field, detail, hint string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Field: field, Detail: detail, Hint: hint}
}

// statusOf maps the service's codes; it is the one place where they become HTTP.
func statusOf(code service.ErrorCode) int {
	switch code {
	case service.ErrNotFound:
		return http.StatusNotFound
	case service.ErrAmbiguous, service.ErrStale:
		return http.StatusConflict
	case service.ErrInvalid:
		return http.StatusUnprocessableEntity
	case service.ErrForbidden:
		return http.StatusForbidden
	case service.ErrUnauthorized:
		return http.StatusUnauthorized
	case service.ErrTooLarge:
		return http.StatusRequestEntityTooLarge
	case service.ErrUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// statusOfRefusal maps the protocol's codes that refuse an attempt.
func statusOfRefusal(code coordinator.Code) int {
	if code == coordinator.CodeRequestKeyConflict {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}

// fail turns an error of the service into a problem; what a client cannot act on is logged and told without detail.
func (f *face) fail(ctx context.Context, err error) error {
	var known *service.Error
	var refusal *coordinator.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return problem(statusOf(known.Code), string(known.Code), known.Field, known.Message, known.Hint)
	case errors.As(err, &refusal):
		p := problem(statusOfRefusal(refusal.Code), string(refusal.Code), refusal.Field, refusal.Message, refusal.Hint)
		p.Value = refusal.Value
		return p
	case ctx.Err() != nil:
		return problem(http.StatusServiceUnavailable, string(service.ErrUnavailable), "", "the request ended before its answer was ready", "ask again; nothing recorded is lost")
	}
	f.logger.ErrorContext(ctx, "request failed", slog.Any("error", err))
	return problem(http.StatusInternalServerError, CodeInternal, "", "the daemon failed to answer", "see its log")
}

// refused is the problem of an attempt that was recorded and refused.
func refused(r *service.Receipt) *Problem {
	m := r.Refused.Message
	p := problem(statusOfRefusal(m.Code), string(m.Code), m.Field, m.Text, m.Hint)
	p.Value, p.Receipt = m.Value, r
	return p
}

// problemOfFramework gives the framework's own errors (schema violations, unreadable bodies) the shape of all others.
func problemOfFramework(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	code := service.ErrInvalid
	if m.Status == http.StatusRequestEntityTooLarge {
		code = service.ErrTooLarge
	}
	p := problem(m.Status, string(code), "", m.Detail, "")
	for i, e := range m.Errors {
		if i == 0 {
			p.Field = e.Location
			p.Detail += ": " + e.Message
			continue
		}
		p.Detail += "; " + e.Location + ": " + e.Message
	}
	return p, nil
}

// write sends a problem outside the framework.
func (p *Problem) write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers only: cannot fail
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client is gone: nobody is left to tell
}
