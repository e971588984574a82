package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

func auditCommand() command {
	return command{
		name: "audit", short: "print the history of a call, or of all", usage: "[ID] [--json] [--data DIR | --stage STAGE]", example: "countersign audit inv_4k2...",
		long: `Prints who did what to a call, event by event, and checks the hash chain over them. Without an ID it exports every call that is still kept.
--json prints one event a line. A chain that does not hold ends the command with 1.
` + deploymentFlags,
		run: runAudit,
	}
}

func runAudit(ctx context.Context, u ui, args []string) error {
	var d deployment
	fs := flag.NewFlagSet("audit", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "")
	d.flags(fs)
	rest, err := parse(fs, args, 1)
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
	a := auditor{ui: u, json: *asJSON}
	if id != "" {
		inv, err := o.Ledger.Get(ctx, id, true)
		if errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("no call has the id %s: it may be older than the retention time", id)
		}
		if err != nil {
			return d.reach(err)
		}
		if err := a.print(inv); err != nil {
			return err
		}
		return a.end()
	}
	for cursor := ""; ; {
		items, next, err := o.Ledger.Scan(ctx, cursor, 100)
		if err != nil {
			return d.reach(err)
		}
		for _, inv := range items {
			if err := a.print(inv); err != nil {
				return err
			}
		}
		if next == "" {
			return a.end()
		}
		cursor = next
	}
}

type auditor struct {
	ui
	json   bool
	broken int
}

func (a *auditor) print(inv ledger.Invocation) error {
	chain := ledger.Verify(inv)
	if chain != nil {
		a.broken++
		a.say("%s: the chain does not hold: %v", inv.Key.ID(), chain)
	}
	if a.json {
		return a.lines(inv)
	}
	fmt.Fprintf(a.out, "%s  %s  %s\n", inv.Key.ID(), plain(inv.Tool), inv.State)
	fmt.Fprintf(a.out, "  asked by %s (%s), connection %s, effect %s, approval %s\n", plain(inv.PrincipalName), plain(inv.Proof), inv.Connection, inv.Effect, inv.Gate)
	fmt.Fprintf(a.out, "  arguments sha256 %s\n", inv.ArgsDigest)
	for _, e := range inv.Events {
		fmt.Fprintf(a.out, "  %s  %-12s %s", e.At.UTC().Format("2006-01-02T15:04:05.000Z"), e.Kind, plain(e.By))
		if e.Proof != "" {
			fmt.Fprintf(a.out, " (%s)", plain(e.Proof))
		}
		fmt.Fprintf(a.out, " -> %s", e.To)
		if e.Reason != "" {
			fmt.Fprintf(a.out, ": %s", plain(e.Reason))
		}
		fmt.Fprintln(a.out)
	}
	if chain == nil {
		fmt.Fprintf(a.out, "  chain holds, head %s\n", inv.Head)
	}
	return nil
}

func (a *auditor) lines(inv ledger.Invocation) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	for i, e := range inv.Events {
		if err := enc.Encode(struct {
			ID    ledger.ID `json:"invocation_id"`
			N     int       `json:"n"`
			Tool  string    `json:"tool"`
			At    time.Time `json:"at"`
			Event string    `json:"event"` // exactly as stored and hashed
			Head  string    `json:"head,omitempty"`
		}{inv.Key.ID(), i + 1, inv.Tool, e.At.UTC(), e.Text, last(i, inv)}); err != nil {
			return err
		}
	}
	return nil
}

func last(i int, inv ledger.Invocation) string {
	if i == len(inv.Events)-1 {
		return inv.Head
	}
	return ""
}

func (a *auditor) end() error {
	if a.broken > 0 {
		return fmt.Errorf("the history of %d calls was changed after it was written", a.broken)
	}
	return nil
}
