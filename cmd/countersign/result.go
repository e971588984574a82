package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

func resultCommand() command {
	return command{
		name: "result", short: "print what a call answered", usage: "ID [--data DIR | --stage STAGE]", example: "countersign result inv_4k2...",
		long: `Prints the remote server's own answer to a completed call, byte for byte, also one that was too large for the client.
` + deploymentFlags,
		run: runResult,
	}
}

func runResult(ctx context.Context, u ui, args []string) error {
	var d deployment
	fs := flag.NewFlagSet("result", flag.ContinueOnError)
	d.flags(fs)
	rest, err := parse(fs, args, 1)
	if err != nil {
		return err
	}
	id, err := parseID(rest)
	if err != nil {
		return err
	}
	o, err := d.open(ctx)
	if err != nil {
		return err
	}
	inv, err := d.get(ctx, o, id)
	if err != nil {
		return err
	}
	res, err := o.Ledger.Result(ctx, inv)
	if errors.Is(err, ledger.ErrNoResult) {
		return fmt.Errorf("%s has no result: it is %s; countersign audit %s says why", id, inv.State, id)
	}
	if errors.Is(err, ledger.ErrDamaged) {
		return fmt.Errorf("%w; countersign verify %s says more", err, id)
	}
	if errors.Is(err, ledger.ErrErased) {
		return fmt.Errorf("%s has no result any more: %s", id, erasedWords(inv.Erased))
	}
	if err != nil {
		return d.reach(err)
	}
	_, err = fmt.Fprintf(u.out, "%s\n", res.Body)
	return err
}
