package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"patchd/coordinator/service"
)

// SealBody asks for a round.
type SealBody struct {
	Patches []string `json:"patches,omitempty" doc:"identities, unique beginnings of them (7 digits or more), patch_ids or submission ids; left out: everything that is ready" maxItems:"1000"`
}

// RoundList is a piece of a target's rounds, newest first; Next is the before of the following piece, zero at the end.
type RoundList struct {
	Rounds []service.Round `json:"rounds"`
	Next   int64           `json:"next,omitzero"`
}

type sealInput struct {
	Place
	Body SealBody
}

type roundOutput struct{ Body *service.Round }

type roundsInput struct {
	Place
	Before int64 `query:"before" doc:"only rounds below this number" minimum:"0"`
	Limit  int   `query:"limit" doc:"rounds at once" minimum:"1" maximum:"500" default:"50"`
}

type roundsOutput struct{ Body RoundList }

type roundInput struct {
	Place
	Number string `path:"number" doc:"the round's number, or latest" pattern:"^([1-9][0-9]{0,17}|latest)$"`
}

type roundWaitInput struct {
	Place
	Number  string `path:"number" doc:"the round's number, or latest" pattern:"^([1-9][0-9]{0,17}|latest)$"`
	Timeout string `query:"timeout" doc:"how long to wait, as Go writes durations; at most 1m" default:"30s" example:"10s" maxLength:"20"`
}

func (f *face) registerRounds(api huma.API) {
	seal := operation("seal-round", http.MethodPost, "/v1/rounds", "Seal a round", service.ScopeLand)
	seal.Description = "Records the admission cut and answers at once. The round waits for the plans of everything admitted before it, then its members are composed and the union of their checks is run once."
	seal.DefaultStatus = http.StatusCreated
	huma.Register(api, seal, f.seal)
	huma.Register(api, operation("list-rounds", http.MethodGet, "/v1/rounds", "List rounds, newest first", service.ScopeRead), f.rounds)
	show := operation("show-round", http.MethodGet, "/v1/rounds/{number}", "Show a round with its whole story", service.ScopeRead)
	show.Description = "Members, every composition that was tried with its verdicts, and whom a failure was blamed on with the failing sets that were run."
	huma.Register(api, show, f.round)
	wait := operation("wait-round", http.MethodGet, "/v1/rounds/{number}/wait", "Wait until a round is ready or over", service.ScopeRead)
	wait.Description = "Answers with the round as soon as it is ready or over, or after the time-out with the round as it is then."
	huma.Register(api, wait, f.waitRound)
	land := operation("land-round", http.MethodPost, "/v1/rounds/{number}/land", "Move the target to a ready round's head", service.ScopeLand)
	land.Description = "Compare-and-swap of branch and ledger: 409 where the target moved (the round is superseded), the round is not ready, or a checkout of the branch cannot follow. Landing what has landed answers with the round."
	huma.Register(api, land, f.land)
}

// roundNumber reads a path's number; latest is zero.
func roundNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil { // the pattern leaves only "latest"
		return 0
	}
	return n
}

func (f *face) seal(ctx context.Context, in *sealInput) (*roundOutput, error) {
	r, err := f.service.Seal(ctx, service.SealRequest{Repo: in.Repo, Target: in.ref(), Keys: in.Body.Patches, By: credentialOf(ctx)})
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &roundOutput{r}, nil
}

func (f *face) rounds(ctx context.Context, in *roundsInput) (*roundsOutput, error) {
	list, err := f.service.Rounds(ctx, in.Repo, in.ref(), in.Before, in.Limit)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	out := RoundList{Rounds: list}
	if list == nil {
		out.Rounds = []service.Round{}
	}
	if len(list) == in.Limit && list[len(list)-1].Number > 1 {
		out.Next = list[len(list)-1].Number
	}
	return &roundsOutput{out}, nil
}

func (f *face) round(ctx context.Context, in *roundInput) (*roundOutput, error) {
	r, err := f.service.Round(ctx, in.Repo, in.ref(), roundNumber(in.Number))
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &roundOutput{r}, nil
}

func (f *face) waitRound(ctx context.Context, in *roundWaitInput) (*roundOutput, error) {
	timeout, err := waitTime(in.Timeout)
	if err != nil {
		return nil, err
	}
	r, err := f.service.Round(ctx, in.Repo, in.ref(), roundNumber(in.Number))
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	if r.Ready() || r.Over() {
		return &roundOutput{r}, nil
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done, err := f.service.WaitRound(limited, r.Repo, r.Target, r.Number)
	switch {
	case err == nil:
		return &roundOutput{done}, nil
	case limited.Err() != nil && ctx.Err() == nil:
		return f.round(ctx, &roundInput{Place{r.Repo, string(r.Target)}, strconv.FormatInt(r.Number, 10)})
	}
	return nil, f.fail(ctx, err)
}

// waitTime reads how long a request wants to wait.
func waitTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, problem(http.StatusUnprocessableEntity, string(service.ErrInvalid), "timeout", quoted(text)+" is not a duration", "write it as 30s")
	}
	return min(d, maxWait), nil
}

func (f *face) land(ctx context.Context, in *roundInput) (*roundOutput, error) {
	number := roundNumber(in.Number)
	if number == 0 {
		latest, err := f.service.Round(ctx, in.Repo, in.ref(), 0)
		if err != nil {
			return nil, f.fail(ctx, err)
		}
		number = latest.Number
	}
	r, err := f.service.Land(ctx, credentialOf(ctx), in.Repo, in.ref(), number)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	if r == nil {
		return nil, f.fail(ctx, errors.New("the landing has no round"))
	}
	return &roundOutput{r}, nil
}
