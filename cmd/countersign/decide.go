package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

func approveCommand() command {
	return command{
		name: "approve", short: "approve a parked call", usage: "ID --code CODE [--as APPROVER] [--data DIR | --stage STAGE]", example: "countersign approve inv_4k2... --code 5f0c91ab",
		long: `Approves one call; the gateway then runs it, once. CODE is the call's review code as countersign pending prints it: it ties the
approval to the call that you read. --as names the approver you are (default: the only one there is).
` + deploymentFlags,
		run: func(ctx context.Context, u ui, args []string) error { return runDecide(ctx, u, gateway.Approve, args) },
	}
}

func declineCommand() command {
	return command{
		name: "decline", short: "decline a parked call, with a reason", usage: "ID --reason TEXT [--as APPROVER] [--data DIR | --stage STAGE]", example: `countersign decline inv_4k2... --reason "wrong account"`,
		long: "Declines one call: it never runs, and the requester is told the reason.\n" + deploymentFlags,
		run:  func(ctx context.Context, u ui, args []string) error { return runDecide(ctx, u, gateway.Decline, args) },
	}
}

func settleCommand() command {
	return command{
		name: "settle", short: "settle a call in doubt", usage: "ID --as-ran | --run-again | --give-up --reason TEXT [--as APPROVER] [--data DIR | --stage STAGE]",
		example: `countersign settle inv_4k2... --as-ran --reason "the invoice is in the ledger"`,
		long: `Settles a call of which nobody knows whether it ran. Find out first. --as-ran: it ran, its result is lost. --run-again: it did not run,
send it once more. --give-up: nobody can find out. The reason is kept with your name.
` + deploymentFlags,
		run: func(ctx context.Context, u ui, args []string) error { return runDecide(ctx, u, "", args) },
	}
}

func runDecide(ctx context.Context, u ui, choice gateway.Choice, args []string) error {
	var d deployment
	fs := flag.NewFlagSet("decide", flag.ContinueOnError)
	as := fs.String("as", "", "")
	reason := fs.String("reason", "", "")
	var code string
	var ran, again, giveUp bool
	switch choice {
	case gateway.Approve:
		fs.StringVar(&code, "code", "", "")
	case "":
		fs.BoolVar(&ran, "as-ran", false, "")
		fs.BoolVar(&again, "run-again", false, "")
		fs.BoolVar(&giveUp, "give-up", false, "")
	}
	d.flags(fs)
	rest, err := parse(fs, args, 1)
	if err != nil {
		return err
	}
	id, err := parseID(rest)
	if err != nil {
		return err
	}
	if choice == "" {
		if choice, err = settling(ran, again, giveUp); err != nil {
			return err
		}
	}
	if choice == gateway.Approve && code == "" {
		return usageError("give the call's review code: --code, as countersign pending prints it")
	}
	if choice != gateway.Approve && strings.TrimSpace(*reason) == "" {
		return usageError("give the reason: --reason TEXT")
	}
	o, err := d.open(ctx)
	if err != nil {
		return err
	}
	approver, err := whoDecides(o.Approvers, *as)
	if err != nil {
		return err
	}
	v, err := o.Gateway.View(ctx, id)
	if err != nil {
		return d.reach(err)
	}
	if v.Tampered {
		return errors.New("the stored call was changed after it was made; nothing was decided")
	}
	if choice == gateway.Approve && code != v.ReviewCode() {
		return fmt.Errorf("the review code of this call is not %s: look at it again with countersign pending", code)
	}
	if err := u.verified(v); err != nil {
		return err
	}
	proof, err := d.proof(ctx)
	if err != nil {
		return err
	}
	out, err := o.Gateway.Decide(ctx, gateway.Decision{
		ID: id, Choice: choice, Approver: approver, Proof: proof, Head: v.Head, Digest: v.DecisionDigest, Reason: *reason,
	})
	if err != nil {
		return d.reach(err)
	}
	return u.outcome(v, out)
}

func settling(ran, again, giveUp bool) (gateway.Choice, error) {
	var chosen []gateway.Choice
	for c, yes := range map[gateway.Choice]bool{gateway.Ran: ran, gateway.Rerun: again, gateway.GiveUp: giveUp} {
		if yes {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) != 1 {
		return "", usageError("choose exactly one of --as-ran, --run-again and --give-up")
	}
	return chosen[0], nil
}

func whoDecides(approvers []string, as string) (string, error) {
	switch {
	case as != "":
		return as, nil
	case len(approvers) == 1:
		return approvers[0], nil
	case len(approvers) == 0:
		return "", errors.New("this deployment has no approver; name one in countersign.yml")
	}
	return "", usageError("which approver are you? --as one of %s", strings.Join(approvers, ", "))
}

// proof says how the one who decides is known, for the record.
func (d *deployment) proof(ctx context.Context) (string, error) {
	if d.stage != "" {
		arn, err := callerARN(ctx)
		if err != nil {
			return "", environment(fmt.Errorf("asking AWS who you are: %w", err), "are your credentials valid?")
		}
		return "iam: " + arn, nil
	}
	me, err := user.Current()
	if err != nil {
		return "local command", nil // the name is only for the reader; the folder's owner decides in any case
	}
	return "local command of " + me.Username, nil
}

// outcome tells what a decision led to, or what stands instead.
func (u ui) outcome(v gateway.View, d gateway.Decided) error {
	at, tool := d.At.Local().Format(time.DateTime), plain(v.Tool)
	switch {
	case d.Yours && v.State == d.State && d.State == ledger.Parked:
		_, err := fmt.Fprintf(u.out, "%s: already %s by you (%s) at %s; still needed: %s\n", tool, word(d.Choice), d.By, at, count(d.Needed, "approval"))
		return err
	case d.Yours && v.State == d.State:
		_, err := fmt.Fprintf(u.out, "%s: already %s by you (%s) at %s\n", tool, word(d.Choice), d.By, at)
		return err
	case d.Yours && d.State == ledger.Parked:
		_, err := fmt.Fprintf(u.out, "%s: approved by %s; still needed: %s\n", tool, d.By, count(d.Needed, "approval"))
		return err
	case d.Yours:
		_, err := fmt.Fprintf(u.out, "%s: %s by %s; it is now %s\n", tool, word(d.Choice), d.By, d.State)
		return err
	case d.By != "":
		return fmt.Errorf("%s: already %s by %s at %s; your decision changed nothing", tool, word(d.Choice), d.By, at)
	}
	if d.State == ledger.Parked {
		return fmt.Errorf("%s: it is not in doubt, it waits for a decision: countersign approve, or countersign decline", v.Tool)
	}
	return fmt.Errorf("%s: it is %s; there is nothing to decide", tool, d.State)
}

func word(c gateway.Choice) string {
	switch c {
	case gateway.Ran:
		return "settled as ran"
	case gateway.Rerun:
		return "settled as not run, to be sent once more"
	case gateway.GiveUp:
		return "closed as unknown"
	}
	return string(c)
}
