package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

func eraseCommand() command {
	return command{
		name: "erase", short: "remove the arguments and the result of a call that has ended", usage: "ID --reason TEXT [--data DIR | --stage STAGE]",
		example: `countersign erase inv_4k2... --reason "request 81 of the data subject"`,
		long: `Removes the arguments, context values, request metadata and result of one call for good. Only a call that has ended can be erased.
Its history stays, with the digests, and countersign verify goes on checking it. Whoever asks for the result is told that it was
erased; the client's key still leads to this call, which never runs again. When, by whom and why is kept with the call. Reasons that
people gave are part of the history and stay; so do copies elsewhere, such as backups of the table until their time is over.
` + deploymentFlags,
		run: runErase,
	}
}

func runErase(ctx context.Context, u ui, args []string) error {
	var d deployment
	fs := flag.NewFlagSet("erase", flag.ContinueOnError)
	reason := fs.String("reason", "", "")
	d.flags(fs)
	rest, err := parse(fs, args, 1)
	if err != nil {
		return err
	}
	id, err := parseID(rest)
	if err != nil {
		return err
	}
	if strings.TrimSpace(*reason) == "" {
		return usageError("give the reason: --reason TEXT")
	}
	o, err := d.open(ctx)
	if err != nil {
		return err
	}
	proof, err := d.proof(ctx)
	if err != nil {
		return err
	}
	now, err := d.clock()
	if err != nil {
		return err
	}
	inv, err := o.Ledger.Erase(ctx, id, ledger.Actor{By: "operator", Proof: proof}, *reason, now())
	var refused *ledger.NotAllowed
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("%s is %s: %s; nothing was removed", id, refused.State, refused.Reason)
	case errors.Is(err, ledger.ErrNotFound):
		return fmt.Errorf("no call has the id %s: it may be older than the retention time", id)
	case err != nil:
		return d.reach(err)
	}
	_, err = fmt.Fprintf(u.out, "%s: %s\n", id, erasedWords(inv.Erased))
	return err
}
