package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// command is one subcommand.
type command struct {
	name    string
	short   string // one line of the overview
	usage   string // arguments after the name
	long    string // what it does
	example string
	run     func(ctx context.Context, u ui, args []string) error
}

// commands returns the subcommands in the order of the overview.
func commands() []command {
	return []command{devCommand(), checkCommand(), catalogCommand(), pendingCommand(), approveCommand(), declineCommand(), settleCommand(), auditCommand(), verifyCommand(), eraseCommand(), resultCommand(), versionCommand()}
}

const overview = `Countersign: an MCP gateway where a person's approval leads to at most one call.

usage: countersign <command> [flags] [arguments]

`

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, u ui) int {
	if len(args) == 0 {
		printOverview(u.err)
		return exitUsage
	}
	name := args[0]
	switch name {
	case "help", "-h", "-help", "--help":
		return help(u, args[1:])
	}
	c, ok := find(name)
	if !ok {
		u.say("unknown command %q", plain(name))
		u.hint("countersign help lists the commands")
		return exitUsage
	}
	err := c.run(ctx, u, args[1:])
	if errors.Is(err, flag.ErrHelp) {
		c.print(u.out)
		return exitOK
	}
	var f *failure
	if errors.As(err, &f) && f.code == exitUsage && f.hint == "" {
		f.hint = "countersign help " + name + " shows its flags and arguments"
	}
	return u.exit(err)
}

func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

func help(u ui, args []string) int {
	if len(args) == 0 {
		printOverview(u.out)
		return exitOK
	}
	if len(args) > 1 {
		u.say("unexpected argument %q", plain(args[1]))
		u.hint("help takes one command: countersign help %s", plain(args[0]))
		return exitUsage
	}
	c, ok := find(args[0])
	if !ok {
		u.say("unknown command %q", plain(args[0]))
		u.hint("countersign help lists the commands")
		return exitUsage
	}
	c.print(u.out)
	return exitOK
}

func printOverview(w io.Writer) {
	fmt.Fprint(w, overview)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.short)
	}
	fmt.Fprintf(w, "  %-9s %s\n", "help", "show this, or one command: countersign help dev")
}

func (c command) print(w io.Writer) {
	line := strings.TrimRight("countersign "+c.name+" "+c.usage, " ")
	fmt.Fprintf(w, "usage: %s\n\n%s\n\nexample:\n  %s\n", line, strings.TrimSpace(c.long), c.example)
}

// parse reads flags; unknown ones and left-over arguments beyond most are usage errors.
func parse(fs *flag.FlagSet, args []string, most int) ([]string, error) {
	fs.SetOutput(io.Discard)
	// Flags may stand before and after the arguments: `approve ID --as ana`.
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
				return nil, usageError("unknown flag --%s", plain(name))
			}
			return nil, usageError("%v", err)
		}
		if fs.NArg() == 0 {
			break
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
	if len(rest) > most {
		return nil, usageError("unexpected argument %q", rest[most])
	}
	return rest, nil
}
