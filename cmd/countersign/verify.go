package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/audit"
)

func verifyCommand() command {
	return command{
		name: "verify", short: "check the record against itself, and against the log",
		usage:   "ID | --all [--heads FILE] [--json] [--data DIR | --stage STAGE]",
		example: "countersign verify --all --heads heads.jsonl",
		long: `Computes the hash chain of one call, or of all that are kept, again from the first event, and compares with the row what its events
vouch for: the decision digest, the approvers, the outcome, the stored arguments and result with their digests. Only a call that has
ended may have a ttl. Prints one line a call: holds, erased (countersign erase removed its bytes; everything else holds), broken
with the first event that cannot be right, its kind, and what differs, or unread with what nobody can read of its row. Ends with 1 when
anything is wrong.

A chain shows edits by whoever did not compute it anew. --heads FILE compares it also with what the functions logged at each
transition, which nobody can write who can only write the table: JSON lines {"id","n","head"}, as the log has them. A call that was
logged within the retention of countersign.yml (30 days unless it says more) and has no row is then missing. Export them with:
  aws logs filter-log-events --log-group-name GROUP --filter-pattern '{ $.msg = "transition" }' --query 'events[].[message]' --output text

--json prints one object a line: invocation_id; verdict (holds, erased, broken, missing, deleted, unread); state; events, how many there are;
head, the row's; logged, how many events the log agrees with; and where it is broken event, kind and differs.

` + deploymentFlags,
		run: runVerify,
	}
}

func runVerify(ctx context.Context, u ui, args []string) error {
	var d deployment
	fs := flag.NewFlagSet("verify", flag.ContinueOnError)
	every := fs.Bool("all", false, "")
	file := fs.String("heads", "", "")
	asJSON := fs.Bool("json", false, "")
	d.flags(fs)
	rest, err := parse(fs, args, 1)
	if err != nil {
		return err
	}
	if *every == (len(rest) == 1) {
		return usageError("verify which calls? give one id, inv_..., or --all")
	}
	var id ledger.ID
	if !*every {
		if id, err = parseID(rest); err != nil {
			return err
		}
	}
	heads, err := readHeads(*file)
	if err != nil {
		return err
	}
	o, err := d.open(ctx)
	if err != nil {
		return err
	}
	v := verifier{ui: u, json: *asJSON, checker: audit.Checker{Results: o.Ledger, Heads: heads, Kept: o.Retention}, seen: map[ledger.ID]bool{}}
	err = d.each(ctx, o, id, func(row ledger.Found) error {
		if row.Err != nil {
			return v.print(v.checker.Unreadable(row.Key, row.Err))
		}
		r, err := v.checker.Check(ctx, row.Invocation)
		if err != nil {
			return d.reach(err)
		}
		return v.print(r)
	})
	if err != nil {
		return err
	}
	now, err := d.clock() // that of the log, which says when a call was last seen
	if err != nil {
		return err
	}
	for _, logged := range heads.IDs() {
		if *every && !v.seen[logged] {
			if err := v.print(v.checker.Absent(logged, now())); err != nil {
				return err
			}
		}
	}
	if v.wrong > 0 {
		return fmt.Errorf("%d of %s: the record is not what was written", v.wrong, count(len(v.seen), "call"))
	}
	return nil
}

func readHeads(file string) (*audit.Heads, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, environment(fmt.Errorf("reading the heads: %w", err), "")
	}
	heads, err := audit.ReadHeads(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, environment(fmt.Errorf("%s: %w", file, err), "it has one JSON object a line, as the functions log them: countersign help verify")
	}
	return heads, nil
}

type verifier struct {
	ui
	json    bool
	checker audit.Checker
	seen    map[ledger.ID]bool
	wrong   int
}

func (v *verifier) print(r audit.Report) error {
	v.seen[r.ID] = true
	if r.Wrong() {
		v.wrong++
	}
	if v.json {
		enc := json.NewEncoder(v.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	line := fmt.Sprintf("%s  %-7s", plain(string(r.ID)), r.Verdict)
	switch {
	case r.Event > 0 && r.Kind != "":
		line += fmt.Sprintf("  event %d (%s): %s", r.Event, plain(string(r.Kind)), plain(r.Differs))
	case r.Event > 0:
		line += fmt.Sprintf("  after its %s: %s", count(r.Events, "event"), plain(r.Differs))
	case r.Verdict == audit.Missing, r.Verdict == audit.Unread:
		line += "  " + plain(r.Differs)
	case r.Verdict == audit.Deleted:
		line += "  it was logged long ago, and its row's time is over"
	default:
		line += fmt.Sprintf("  %s, head %s", count(r.Events, "event"), plain(r.Head))
	}
	if v.checker.Heads != nil && !r.Wrong() {
		line += fmt.Sprintf(", %d logged", r.Logged)
	}
	_, err := fmt.Fprintln(v.out, line)
	return err
}

// scanPage is how many items one read of a scan asks for.
const scanPage = 100

// each calls do with one call, or, where id is empty, with all of them. A row of all that cannot be read comes with its error and its key,
// and keeps no other from its turn.
func (d *deployment) each(ctx context.Context, o *app.Operator, id ledger.ID, do func(ledger.Found) error) error {
	if id != "" {
		inv, err := d.get(ctx, o, id)
		if err != nil {
			return err
		}
		return do(ledger.Found{Invocation: inv})
	}
	for cursor := ""; ; {
		rows, next, err := o.Ledger.Scan(ctx, cursor, scanPage)
		if err != nil {
			return d.reach(err)
		}
		for _, row := range rows {
			if err := do(row); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}

// get reads one call.
func (d *deployment) get(ctx context.Context, o *app.Operator, id ledger.ID) (ledger.Invocation, error) {
	inv, err := o.Ledger.Get(ctx, id, true)
	if errors.Is(err, ledger.ErrNotFound) {
		return ledger.Invocation{}, fmt.Errorf("no call has the id %s: it may be older than the retention time", id)
	}
	return inv, d.reach(err)
}
