package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/conn"
)

func checkCommand() command {
	return command{
		name: "check", short: "check the connection files and countersign.yml", usage: "[--json] [DIR]", example: "countersign check",
		long: `Checks connections/*.yml and countersign.yml of DIR (default: this folder) without asking any server. All problems of all files are
printed at once, one a line: file, line, column, what is wrong, the cure, and the rule's name, which docs/connections.md explains.
Ends with 1 when there are problems.`,
		run: runCheck,
	}
}

func runCheck(_ context.Context, u ui, args []string) error {
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "")
	rest, err := parse(fs, args, 1)
	if err != nil {
		return err
	}
	dir := "."
	if len(rest) == 1 {
		dir = rest[0]
	}
	root := os.DirFS(dir)
	conns, _, problems := app.Check(root)
	if *asJSON {
		if err := printProblems(u, problems); err != nil {
			return err
		}
	} else if err := conn.Render(u.out, problems, conn.Sources(root, problems), conn.Options{Caret: u.terminal}); err != nil {
		return err
	}
	if len(problems) > 0 {
		return errShown
	}
	if !*asJSON {
		_, err = fmt.Fprintf(u.out, "%s: no problems\n", count(len(conns), "connection"))
	}
	return err
}

func printProblems(u ui, problems conn.Problems) error {
	type row struct {
		File    string `json:"file"`
		Line    int    `json:"line,omitempty"`
		Column  int    `json:"column,omitempty"`
		Rule    string `json:"rule"`
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	rows := make([]row, 0, len(problems))
	for _, p := range problems {
		rows = append(rows, row{p.File, p.Line, p.Column, string(p.Rule), p.Message, p.Hint})
	}
	enc := json.NewEncoder(u.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(rows)
}
