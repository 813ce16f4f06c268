// Package api is the HTTP face of the daemon: it translates requests under /v1 into calls of coordinator/service and its
// answers into JSON, and decides nothing. The operations describe themselves in /openapi.json (OpenAPI 3.1); errors are
// application/problem+json (RFC 9457) with a code and, where one is at fault, the field.
//
// Every request but the health probes and the description needs a bearer token (RFC 6750), on the unix socket too. Requests
// with a foreign Host or Origin are refused, so that a page in a browser cannot reach a daemon on loopback by rebinding a
// name. Bodies, pages and event streams are bounded.
package api
