package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"patchd/coordinator"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

// Service is what the face needs of the daemon; *service.Service is it. Failures that a client can act on are
// *service.Error or *coordinator.Refusal; everything else is answered as an internal error and logged.
type Service interface {
	Submit(ctx context.Context, s service.Submission) (*service.Receipt, error)
	Wait(ctx context.Context, repo string, target git.Ref, id coordinator.Identity) (*service.Patch, error)
	Patch(ctx context.Context, repo string, target git.Ref, key string) (*service.Patch, error)
	Patches(ctx context.Context, f service.Filter) (*service.Page, error)
	Withdraw(ctx context.Context, c service.Credential, repo string, target git.Ref, key, why string) (*service.Patch, error)
	Resolve(ctx context.Context, in service.ResolveRequest) (*service.Patch, error)
	MergeCandidate(ctx context.Context, repo string, target git.Ref, key, with string) (*service.MergeCandidate, error)
	Seal(ctx context.Context, in service.SealRequest) (*service.Round, error)
	Round(ctx context.Context, repo string, target git.Ref, number int64) (*service.Round, error)
	Rounds(ctx context.Context, repo string, target git.Ref, before int64, limit int) ([]service.Round, error)
	WaitRound(ctx context.Context, repo string, target git.Ref, number int64) (*service.Round, error)
	Land(ctx context.Context, by service.Credential, repo string, target git.Ref, number int64) (*service.Round, error)
	Pause(ctx context.Context, by service.Credential, repo string, target git.Ref, drain bool) error
	Resume(ctx context.Context, by service.Credential, repo string, target git.Ref) error
	State(ctx context.Context, repo string, target git.Ref) (*coordinator.State, error)
	Targets(ctx context.Context) ([]service.Target, error)
	Log(ctx context.Context, repo string, target git.Ref, from int64, limit int) ([]service.Entry, error)
	Verify(ctx context.Context, repo string, target git.Ref) (*service.Verification, error)
	Content(ctx context.Context, d coordinator.Digest) ([]byte, error)
	Events(ctx context.Context, repo string, target git.Ref, after int64) (<-chan service.Event, error)
	Authenticate(ctx context.Context, token string) (service.Credential, error)
	CreateCredential(ctx context.Context, name string, scopes []service.Scope) (service.Credential, string, error)
	Credentials(ctx context.Context) ([]service.Credential, error)
	RevokeCredential(ctx context.Context, name string) error
	Ready(ctx context.Context) error
}

// Options configure the face. Service, Logger and Clock are required.
type Options struct {
	Service Service
	Logger  *slog.Logger
	Clock   func() time.Time // for write deadlines
	Version string
	// Hosts are the names, beside IP addresses, localhost and "patchd", that a request's Host may carry.
	Hosts []string
	// Metrics is what /metrics shows; nil leaves that path out.
	Metrics prometheus.Gatherer
	// Else answers what is no path of this face, behind the same guard; nil answers with a problem.
	Else http.Handler
	// MaxStreams bounds the event streams open at once; 64 where zero.
	MaxStreams int
}

// Bounds of requests.
const (
	maxSubmitBody     = coordinator.MaxDiff/3*4 + 8*coordinator.MaxManifest // base64 of the diff, and the manifest as a string
	maxOtherBody      = 64 << 10
	defaultMaxStreams = 64
)

// face holds what the handlers share.
type face struct {
	service Service
	logger  *slog.Logger
	clock   func() time.Time
	version string
	streams chan struct{} // one token for each open event stream
}

// New is the handler of the whole face, ready to be served on any listener.
func New(o Options) http.Handler {
	if o.MaxStreams == 0 {
		o.MaxStreams = defaultMaxStreams
	}
	f := &face{service: o.Service, logger: o.Logger, clock: o.Clock, version: o.Version, streams: make(chan struct{}, o.MaxStreams)}
	mux := http.NewServeMux()
	f.registerHealth(mux, o.Metrics)
	f.registerAll(humago.New(mux, f.config()))
	if o.Else == nil {
		o.Else = http.HandlerFunc(nothingHere)
	}
	mux.Handle("/", o.Else)
	return f.recovered(f.guarded(o.Hosts, mux))
}

func nothingHere(w http.ResponseWriter, r *http.Request) {
	problem(http.StatusNotFound, string(service.ErrNotFound), "", "nothing answers "+r.Method+" "+quoted(r.URL.Path), "see /openapi.json").write(w)
}

// config describes the face; the browser documentation of the framework is left out because it loads scripts from elsewhere.
func (f *face) config() huma.Config {
	c := huma.DefaultConfig("patchd", f.version)
	c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", nil
	c.Info.Description = "Hand in patches, look at what was decided, and check the record."
	c.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}}
	c.Transformers = append(c.Transformers, problemOfFramework)
	return c
}

func (f *face) registerAll(api huma.API) {
	api.UseMiddleware(f.authenticated(api))
	f.registerPatches(api)
	f.registerResolve(api)
	f.registerRounds(api)
	f.registerTargets(api)
	f.registerEvents(api)
	f.registerTokens(api)
}

// operation is what all operations have in common: the scope that they need and the answers that they may give.
func operation(id, method, path, summary string, scope service.Scope) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		Security:     []map[string][]string{{"bearer": {string(scope)}}},
		Metadata:     map[string]any{scopeKey: scope},
		MaxBodyBytes: maxOtherBody,
	}
}

// Place is where a request is about: empty where one repository, or one target of it, is served.
type Place struct {
	Repo   string `query:"repo" doc:"name of the repository; may be left out where one is served" maxLength:"256"`
	Target string `query:"target" doc:"branch, short or in full; may be left out where one is guarded" maxLength:"256"`
}

func (p Place) ref() git.Ref { return FullRef(p.Target) }
