package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"patchd/coordinator/api"
	"patchd/coordinator/api/client"
	"patchd/coordinator/service"
)

type logCmd struct {
	placeFlags
	From  int64 `default:"1" help:"First sequence number."`
	Limit int   `default:"0" help:"At most so many entries; 0 reads all."`
}

// Help shows examples.
func (*logCmd) Help() string {
	return "Examples:\n  patchd log\n  patchd log --from 100 --limit 20\n  patchd log --json"
}

// Run reads the ledger in its order.
func (l *logCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	entries, err := allEntries(ctx, c, l.place(), l.From, l.Limit)
	if err != nil {
		return err
	}
	return a.emit(api.EntryList{Entries: entries}, func(w io.Writer) { entryTable(w, entries) })
}

func allEntries(ctx context.Context, c *client.Client, at client.Place, from int64, limit int) ([]service.Entry, error) {
	const pageSize = 500
	all := []service.Entry{}
	for {
		size := pageSize
		if limit > 0 {
			size = min(pageSize, limit-len(all))
		}
		entries, next, err := c.Log(ctx, at, from, size)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
		if next == 0 || limit > 0 && len(all) >= limit {
			return all, nil
		}
		from = next
	}
}

func entryTable(w io.Writer, entries []service.Entry) {
	rows := [][]string{{"SEQ", "KIND", "HASH", "AT", "WHAT"}}
	for _, e := range entries {
		rows = append(rows, []string{strconv.FormatInt(e.Seq, 10), e.Kind, short(e.Hash), e.CreatedAt.UTC().Format(time.RFC3339), summary(e.Payload)})
	}
	table(w, rows)
}

// summary shows the members of a payload that people look for.
func summary(payload map[string]any) string {
	var out strings.Builder
	for _, key := range []string{"identity", "outcome", "target_commit", "commit", "new", "code", "patch_id"} {
		v, ok := payload[key]
		if !ok {
			continue
		}
		text := fmt.Sprint(v)
		if _, structured := v.(map[string]any); structured {
			raw, err := json.Marshal(v)
			if err != nil {
				continue
			}
			text = string(raw)
		}
		const long = 40
		if len(text) >= long {
			text = short(text)
		}
		out.WriteString(key + "=" + text + " ")
	}
	return out.String()
}
