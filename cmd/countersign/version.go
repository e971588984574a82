package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"

	"github.com/countersign-mcp/countersign/internal/app"
)

func versionCommand() command {
	return command{
		name: "version", short: "print the version", usage: "", example: "countersign version",
		long: "Prints the version of this command and of Go.",
		run: func(_ context.Context, u ui, args []string) error {
			if _, err := parse(flag.NewFlagSet("version", flag.ContinueOnError), args, 0); err != nil {
				return err
			}
			_, err := fmt.Fprintf(u.out, "countersign %s (%s)\n", app.Version, runtime.Version())
			return err
		},
	}
}
