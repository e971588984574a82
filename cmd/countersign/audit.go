package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/audit"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

func auditCommand() command {
	var columns strings.Builder
	for _, c := range audit.Columns() {
		fmt.Fprintf(&columns, "\n  %-17s %s", c.Name, c.About)
	}
	return command{
		name: "audit", short: "print or export the history of a call, or of all",
		usage:   "[ID] [--json | --csv] [--since TIME] [--until TIME] [--data DIR | --stage STAGE]",
		example: "countersign audit --csv --since 7d > audit.csv",
		long: `Prints who did what to a call, event by event, and checks the hash chain over them. Without an ID it exports every call that is still
kept, in the order in which the calls were made. A chain that does not hold ends the command with 1, and so does a row that nobody can
read, which is named and left out; countersign verify says more.

--since and --until keep the events from TIME on, and those before TIME. TIME is like 2026-03-02T09:00:00Z, or how long ago: 90m, 24h, 7d.

--json prints one object a line for each event: invocation_id; n, which event it is, from 1; tool; at; event, the text exactly as stored and
hashed; and, with the last event of a call, head, the row's hash over all of them.

--csv prints a table as RFC 4180 has it, with one line for each event. A cell that begins with = + - @, a tab or a carriage return gets an
apostrophe before it, so that no spreadsheet takes it for a formula. Its columns:
` + columns.String() + `

Only the text form spells out what a terminal would not show as a character; --json and --csv have what is stored.

` + deploymentFlags,
		run: runAudit,
	}
}

func runAudit(ctx context.Context, u ui, args []string) error {
	var d deployment
	fs := flag.NewFlagSet("audit", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "")
	asCSV := fs.Bool("csv", false, "")
	since := fs.String("since", "", "")
	until := fs.String("until", "", "")
	d.flags(fs)
	rest, err := parse(fs, args, 1)
	if err != nil {
		return err
	}
	if *asJSON && *asCSV {
		return usageError("choose one of --json and --csv")
	}
	now, err := d.clock()
	if err != nil {
		return err
	}
	span, err := parseRange(*since, *until, now())
	if err != nil {
		return err
	}
	var id ledger.ID
	if len(rest) == 1 {
		if id, err = parseID(rest); err != nil {
			return err
		}
	}
	o, err := d.open(ctx)
	if err != nil {
		return err
	}
	var all []ledger.Invocation
	broken := 0
	err = d.each(ctx, o, id, func(row ledger.Found) error {
		if row.Err != nil {
			broken++
			u.say("not exported: %s", plain(row.Err.Error()))
			return nil
		}
		inv := row.Invocation
		if err := ledger.Verify(inv); err != nil {
			broken++
			u.say("the chain does not hold: %s", plain(err.Error()))
		}
		inv.Args, inv.Context, inv.Meta, inv.Result = nil, nil, nil, nil // an export has digests only
		all = append(all, inv)
		return nil
	})
	if err != nil {
		return err
	}
	audit.Sort(all)
	entries := audit.Entries(all, span)
	switch {
	case *asCSV:
		err = audit.WriteCSV(u.out, entries)
	case *asJSON:
		err = printEvents(u, entries)
	default:
		err = printHistory(u, entries)
	}
	if err == nil && broken > 0 {
		err = fmt.Errorf("the history of %s was changed after it was written; countersign verify says where", count(broken, "call"))
	}
	return err
}

func parseRange(since, until string, now time.Time) (span audit.Range, err error) {
	for _, bound := range []struct {
		flag, text string
		into       *time.Time
	}{{"since", since, &span.Since}, {"until", until, &span.Until}} {
		if bound.text == "" {
			continue
		}
		if *bound.into, err = audit.ParseMoment(bound.text, now); err != nil {
			return span, usageError("--%s: %v", bound.flag, err)
		}
	}
	if !span.Until.IsZero() && !span.Since.Before(span.Until) {
		return span, usageError("--since %s is not before --until %s", since, until)
	}
	return span, nil
}

// printHistory prints entries of one call below the other.
func printHistory(u ui, entries []audit.Entry) error {
	for i, e := range entries {
		inv := e.Invocation
		if i == 0 || entries[i-1].Invocation != inv {
			fmt.Fprintf(u.out, "%s  %s  %s\n", inv.Key.ID(), plain(inv.Tool), inv.State)
			fmt.Fprintf(u.out, "  asked by %s (%s), connection %s, effect %s, approval %s\n",
				plain(inv.PrincipalName), plain(inv.Proof), plain(inv.Connection), inv.Effect, inv.Gate)
			fmt.Fprintf(u.out, "  arguments sha256 %s\n", plain(inv.ArgsDigest))
		}
		fmt.Fprintf(u.out, "  %s  %-12s %s", e.At.UTC().Format("2006-01-02T15:04:05.000Z"), plain(string(e.Kind)), plain(e.By))
		if e.Proof != "" {
			fmt.Fprintf(u.out, " (%s)", plain(e.Proof))
		}
		fmt.Fprintf(u.out, " -> %s", plain(string(e.To)))
		if e.Reason != "" {
			fmt.Fprintf(u.out, ": %s", plain(e.Reason))
		}
		fmt.Fprintln(u.out)
		if i+1 < len(entries) && entries[i+1].Invocation == inv {
			continue
		}
		if inv.Erased != "" {
			fmt.Fprintf(u.out, "  %s\n", erasedWords(inv.Erased))
		}
		if heads := inv.Heads(); heads[len(heads)-1] == inv.Head {
			fmt.Fprintf(u.out, "  chain holds, head %s\n", inv.Head)
		}
	}
	return nil
}

// erasedWords says what an erasure's mark says.
func erasedWords(text string) string {
	mark, err := row.ParseErasure(text)
	if err != nil {
		return "its bytes were erased; " + plain(err.Error())
	}
	return "its arguments and result were erased " + plain(mark.String())
}

func printEvents(u ui, entries []audit.Entry) error {
	enc := json.NewEncoder(u.out)
	enc.SetEscapeHTML(false)
	for _, e := range entries {
		head := ""
		if e.N == len(e.Invocation.Events) {
			head = e.Invocation.Head
		}
		if err := enc.Encode(struct {
			ID    ledger.ID `json:"invocation_id"`
			N     int       `json:"n"`
			Tool  string    `json:"tool"`
			At    time.Time `json:"at"`
			Event string    `json:"event"` // exactly as stored and hashed
			Head  string    `json:"head,omitempty"`
		}{e.Invocation.Key.ID(), e.N, e.Invocation.Tool, e.At.UTC(), e.Text, head}); err != nil {
			return err
		}
	}
	return nil
}
