package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"sort"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

func pendingCommand() command {
	return command{
		name: "pending", short: "list the calls that wait for a person", usage: "[--json] [--data DIR | --stage STAGE]", example: "countersign pending",
		long: "Lists parked and in-doubt calls, those that wait longest first, and approved ones that have not run yet.\n" + deploymentFlags,
		run:  runPending,
	}
}

const mostPending = 500

func runPending(ctx context.Context, u ui, args []string) error {
	var d deployment
	fs := flag.NewFlagSet("pending", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "")
	d.flags(fs)
	if _, err := parse(fs, args, 0); err != nil {
		return err
	}
	o, err := d.open(ctx)
	if err != nil {
		return err
	}
	keys, err := o.Ledger.Waiting(ctx, mostPending)
	if err != nil {
		return d.reach(err)
	}
	var views []gateway.View
	var unread []error // one row that cannot be read does not hide the others
	for _, k := range keys {
		v, err := o.Gateway.View(ctx, k.ID())
		if fault.CodeOf(err) == fault.NotFound {
			continue // decided and deleted since the index was read
		}
		if errors.Is(err, ledger.ErrUnreadable) {
			unread = append(unread, fmt.Errorf("%s is not listed: %w", k.ID(), err))
			continue
		}
		if err != nil {
			return d.reach(err)
		}
		if v.State == ledger.Parked || v.State == ledger.Approved || v.State == ledger.InDoubt || v.State == ledger.Started {
			views = append(views, v)
		}
	}
	sort.Slice(views, func(i, j int) bool { return views[i].CreatedAt.Before(views[j].CreatedAt) })
	if *asJSON {
		return errors.Join(append(unread, printPending(u, views))...)
	}
	if len(views) == 0 && len(unread) == 0 {
		_, err := fmt.Fprintln(u.out, "nothing waits for a person")
		return err
	}
	rows := [][]string{{"ID", "STATE", "TOOL", "ASKED BY", "AGE", "EXPIRES", "CODE", "ARGUMENTS"}}
	for _, v := range views {
		expires := "-"
		if v.State == ledger.Parked {
			expires = v.ExpiresAt.Local().Format(time.DateTime)
		}
		state := string(v.State)
		if v.State == ledger.Parked && v.ApprovalsNeed > 1 {
			state = fmt.Sprintf("parked, %d of %d approved", len(v.ApprovedBy), v.ApprovalsNeed)
		}
		args := shorten(string(v.Args), 60)
		if v.ArgsDropped {
			args = "(too large to keep)"
		}
		rows = append(rows, []string{string(v.ID), state, v.Tool, v.Requester, age(time.Since(v.CreatedAt)), expires, v.ReviewCode(), args})
	}
	if err := u.table(rows); err != nil {
		return err
	}
	for _, v := range views {
		if len(v.Context) > 0 { // a decision is for these values, too
			if _, err := fmt.Fprintf(u.out, "%s: known of the requester: %s\n", v.ID, plain(string(v.Context))); err != nil {
				return err
			}
		}
		if err := u.verified(v); err != nil {
			return err
		}
	}
	return errors.Join(unread...)
}

// verified prints what a tool said about a call in doubt, where one was asked.
func (u ui) verified(v gateway.View) error {
	if v.Verified == nil {
		return nil
	}
	how := "answered (the server's word, not a proof)"
	if v.Verified.Failed {
		how = "did not answer"
	}
	_, err := fmt.Fprintf(u.out, "%s: %s, asked at %s, %s: %s\n",
		v.ID, plain(v.Verified.Tool), v.Verified.At.Local().Format(time.DateTime), how, plain(v.Verified.Answer))
	return err
}

func printPending(u ui, views []gateway.View) error {
	type row struct {
		ID        ledger.ID       `json:"invocation_id"`
		State     ledger.State    `json:"state"`
		Tool      string          `json:"tool"`
		Requester string          `json:"requester"`
		Arguments json.RawMessage `json:"arguments"`
		Created   time.Time       `json:"created_at"`
		Expires   time.Time       `json:"expires_at,omitzero"`
		Code      string          `json:"review_code"`
		Context   json.RawMessage `json:"context,omitempty"`
		Needed    int             `json:"approvals_needed,omitempty"` // where more than one is
		Approved  []string        `json:"approved_by,omitempty"`
		SeenTwice int             `json:"seen_twice,omitempty"`
		Verified  any             `json:"verified,omitempty"`
	}
	rows := make([]row, 0, len(views))
	for _, v := range views {
		r := row{ID: v.ID, State: v.State, Tool: v.Tool, Requester: v.Requester, Arguments: v.Args, Created: v.CreatedAt, Expires: v.ExpiresAt,
			Code: v.ReviewCode(), Context: v.Context, Approved: v.ApprovedBy, SeenTwice: v.SeenTwice}
		if v.ApprovalsNeed > 1 {
			r.Needed = v.ApprovalsNeed
		}
		if v.Verified != nil {
			r.Verified = v.Verified
		}
		rows = append(rows, r)
	}
	enc := json.NewEncoder(u.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(rows)
}

func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-3]) + "..."
}
