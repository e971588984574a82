package e2e_test

import (
	"fmt"
	"io"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are what a story may say, beside testscript's own.
//
// The remote server:
//
//	upstream ERA [TOOL...]          start the remote server; $UPSTREAM is its URL, its tools are search, write and send or those named
//	upstream-down, upstream-up      stop the server, serve again on the same port
//	upstream-tool TOOL SCHEMA       replace the input schema of a tool
//	script TOOL BEHAVIOUR...        what the next calls of a tool meet: answer=JSON, error=JSON, reset, hang, status=504, refuse=401,
//	                                redirect=URL, truncated
//	executions TOOL N               the server really executed TOOL exactly N times
//	until-executed TOOL N           wait until it did
//	sent TOOL TEXT                  the last call of TOOL arrived with exactly these argument bytes
//	sent-header TOOL NAME VALUE...  the calls of TOOL so far carried exactly these values in this header
//	bystander                       start another server, which nobody is configured to call; $BYSTANDER is its URL
//	untouched                       the bystander got no request at all
//
// The gateway:
//
//	start [-here] [FLAG...]         start countersign dev; $ENDPOINT, $TOKEN, $APPROVE, $AWS. -here: its functions in its process, also where the
//	                                story is told over binaries; only a gateway of this kind can have a clock of its own
//	crash                           kill it and all it started with SIGKILL
//	interrupt                       end it as Ctrl-C does; it must end with 0 and leave no process behind
//	advance DURATION                move the clock of a gateway started with --clock clock
//	notified ID                     wait until the ledger knows that the approvers of this call were told
//	fault RULE                      put a fault of the AWS stand-in in force
//	swept                           wait until the sweep and the scan with which a gateway starts have looked
//	aws-reset, aws-requests N       forget the requests to AWS so far; there were exactly N since
//	port URL VAR                    $VAR is the port of a URL
//	tamper ID OLD NEW               replace a text in the stored row of a call, behind the gateway's back
//	heads FILE                      write to a file what the gateway's log has of transitions, as JSON lines; it was started with --log
//	exits CODE PROGRAM [ARG...]     run a program, which must end with this code
//	unseen TEXT...                  none of these stands in the gateway's log or in any answer of its MCP endpoint in this story
//
// A client:
//
//	initialize                      as a legacy client: later calls belong to the session
//	mcp list | mcp call TOOL JSON   the JSON-RPC result goes to stdout, or "error " and the error object. $MCP_ERA: modern, otherwise legacy;
//	                                $MCP_KEY is the call's idempotency key
//	post BODY [HEADER...]           send BODY, or the file @NAME, as it is; "HTTP" and the status, the challenge and the answer go to stdout
//	fill FILE BYTES BEFORE AFTER    write a file of BEFORE, BYTES letters and AFTER
//	await ID [VAR]                  await until the call is over; the answer goes to stdout and into $VAR
//	cmpresult TEXT                  the last stdout is exactly TEXT
//	same TEXT TEXT                  the texts are equal
//	says PATH JSON                  the last stdout is JSON, and the value at PATH (members and indexes, joined by dots) is this one
//
// A person:
//
//	card N VAR                      wait for the N-th card; ${VAR}_ID, ${VAR}_LINK, ${VAR}_CODE; act, tool and approver go to stdout
//	open LINK                       GET the page as a browser does; "HTTP" and the status and the page go to stdout
//	decide LINK CHOICE NAME [REASON] open the page, then POST its form
//
// A leading ! means that the command must fail; what it says then goes to stderr.
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){}
	for _, group := range []map[string]command{remoteCommands(), gatewayCommands(), recordCommands(), clientCommands(), personCommands()} {
		for name, c := range group {
			all[name] = c.run
		}
	}
	return all
}

// command is one word of the stories.
type command struct {
	usage       string
	least, most int // arguments; most < 0: any number
	do          func(s *story, ts *testscript.TestScript, args []string) (stdout string, err error)
}

func (c command) run(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < c.least || c.most >= 0 && len(args) > c.most {
		ts.Fatalf("usage: %s", c.usage)
	}
	out, err := c.do(ts.Value(storyKey{}).(*story), ts, args)
	if out != "" { // a command that says nothing leaves what was said before
		_, _ = io.WriteString(ts.Stdout(), out)
	}
	switch {
	case err != nil && neg:
		_, _ = fmt.Fprintln(ts.Stderr(), err)
	case err != nil:
		ts.Fatalf("%v", err)
	case neg:
		ts.Fatalf("unexpected success")
	}
}

// quiet makes a command's function out of one that has nothing to say.
func quiet(f func(s *story, ts *testscript.TestScript, args []string) error) func(*story, *testscript.TestScript, []string) (string, error) {
	return func(s *story, ts *testscript.TestScript, args []string) (string, error) { return "", f(s, ts, args) }
}
