package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

func gatewayCommands() map[string]command {
	return map[string]command{
		"start":     {"start [-here] [FLAG...]", 0, -1, quiet(cmdStart)},
		"crash":     {"crash", 0, 0, quiet(cmdCrash)},
		"interrupt": {"interrupt", 0, 0, quiet(cmdInterrupt)},
		"advance":   {"advance DURATION", 1, 1, quiet(cmdAdvance)},
		"notified":  {"notified ID", 1, 1, quiet(cmdNotified)},
		"fault":     {"fault RULE", 1, 1, quiet(cmdFault)},
		"swept":     {"swept", 0, 0, quiet(cmdSwept)},
		"aws-reset": {"aws-reset", 0, 0, quiet(func(_ *story, ts *testscript.TestScript, _ []string) error {
			_, err := awsRequests(ts, http.MethodDelete)
			return err
		})},
		"aws-requests": {"aws-requests N", 1, 1, quiet(cmdAWSRequests)},
		"port":         {"port URL VAR", 2, 2, quiet(cmdPort)},
		"exits":        {"exits CODE PROGRAM [ARG...]", 2, -1, cmdExits},
		"unseen":       {"unseen TEXT...", 1, -1, quiet(cmdUnseen)},
	}
}

func cmdStart(s *story, ts *testscript.TestScript, args []string) error {
	bootstraps := s.bootstraps
	if len(args) > 0 && args[0] == "-here" {
		bootstraps, args = "", args[1:]
	}
	return s.start(ts, bootstraps, args)
}

func cmdCrash(s *story, _ *testscript.TestScript, _ []string) error {
	if s.process == nil {
		return errors.New("the gateway does not run")
	}
	s.process.kill()
	s.process = nil
	return s.nothingLeft()
}

func cmdInterrupt(s *story, _ *testscript.TestScript, _ []string) error {
	if s.process == nil {
		return errors.New("the gateway does not run")
	}
	code, err := s.process.interrupt()
	s.process = nil
	if err == nil && code != 0 {
		log, _ := os.ReadFile(filepath.Join(s.env.WorkDir, logFile)) // what it says besides; that it failed is said in any case
		err = fmt.Errorf("the gateway ended with %d:\n%s", code, log)
	}
	return errors.Join(err, s.nothingLeft())
}

// nothingLeft waits until no process has the story's folder in its environment: the gateway has it, and so has every
// function that it starts.
func (s *story) nothingLeft() error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left, err := s.processes()
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("still running: %q", left)
		}
	}
}

func (s *story) processes() ([]string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, f := range files {
		env, err := os.ReadFile(f)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || len(env) == 0 {
			continue // ended meanwhile, or somebody else's
		}
		if bytes.Contains(env, []byte(s.env.WorkDir)) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found, nil
}

func cmdAdvance(_ *story, ts *testscript.TestScript, args []string) error {
	by, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	file := ts.MkAbs("clock")
	now, err := time.ParseDuration(strings.TrimSpace(ts.ReadFile(file)))
	if err != nil {
		return err
	}
	return writeFile(file, (now+by).String()+"\n")
}

// cmdNotified waits until the row is marked: the mark comes after the cards.
func cmdNotified(s *story, _ *testscript.TestScript, args []string) error {
	state, err := dev.ReadState(filepath.Join(s.env.WorkDir, ".countersign"))
	if err != nil {
		return err
	}
	ctx, cancel := s.context()
	defer cancel()
	o, err := app.NewOperator(ctx, app.Config{Stage: state.Stage, Table: state.Table, AWS: app.LocalAWS(state.AWSEndpoint), Approvers: state.Approvers})
	if err != nil {
		return err
	}
	for {
		inv, err := o.Ledger.Get(ctx, ledger.ID(args[0]), true)
		if err != nil || !inv.NotifiedAt.IsZero() {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func cmdFault(_ *story, ts *testscript.TestScript, args []string) error {
	req, err := http.NewRequest(http.MethodPost, ts.Getenv("AWS")+"/_faults", strings.NewReader(args[0]))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	a, err := send(req)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("the stand-in does not take the fault: %v", a)
	}
	return err
}

// requests counts the requests to AWS by operation.
func awsRequests(ts *testscript.TestScript, method string) (map[string]int, error) {
	req, err := http.NewRequest(method, ts.Getenv("AWS")+"/_accounting", nil)
	if err != nil {
		return nil, err
	}
	a, err := send(req)
	if err != nil {
		return nil, err
	}
	var book struct {
		Rows []struct {
			Operation string
			Requests  int
		}
	}
	n := map[string]int{}
	err = json.Unmarshal(a.body, &book)
	for _, r := range book.Rows {
		n[r.Operation] += r.Requests
	}
	return n, err
}

// shards is how many queries a sweep of an empty index makes.
const shards = 4

// cmdSwept waits until the sweep and the scan with which a gateway starts have looked.
func cmdSwept(_ *story, ts *testscript.TestScript, _ []string) error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		n, err := awsRequests(ts, http.MethodGet)
		if err != nil || n["Query"] >= shards && n["Scan"] >= 1 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("no sweep and scan after %v, only %v", patience, n)
		}
	}
}

func cmdAWSRequests(_ *story, ts *testscript.TestScript, args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	got, err := awsRequests(ts, http.MethodGet)
	if err != nil {
		return err
	}
	sum := 0
	for _, n := range got {
		sum += n
	}
	if sum != want {
		return fmt.Errorf("there were %d requests to AWS, want %d: %v", sum, want, got)
	}
	return nil
}

func cmdPort(_ *story, ts *testscript.TestScript, args []string) error {
	u, err := url.Parse(args[0])
	if err == nil {
		ts.Setenv(args[1], u.Port())
	}
	return err
}

func cmdExits(s *story, ts *testscript.TestScript, args []string) (string, error) {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return "", err
	}
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case err == nil && want == 0:
		return "", nil
	case errors.As(err, &exit) && exit.ExitCode() == want:
		return "", nil
	case err == nil:
		return "", fmt.Errorf("it ended with 0, want %d", want)
	}
	return "", fmt.Errorf("it ended with %w, want %d", err, want)
}

// cmdUnseen looks for texts in all that is not the console. That they are not there proves something only where the log is on.
func cmdUnseen(s *story, _ *testscript.TestScript, args []string) error {
	log, err := os.ReadFile(filepath.Join(s.env.WorkDir, logFile))
	if err != nil {
		return err
	}
	if len(log) == 0 || s.answers.String() == "" {
		return errors.New("there is no log, or no answer, to look at: start with --log, and call something")
	}
	for _, text := range args {
		for where, in := range map[string]string{"the log": string(log), "an answer": s.answers.String()} {
			if i := strings.Index(in, text); i >= 0 {
				return fmt.Errorf("%q stands in %s: ...%s...", text, where, in[max(0, i-200):min(len(in), i+len(text)+20)])
			}
		}
	}
	if slices.Contains(args, "") {
		return errors.New("nothing was looked for: a text is empty")
	}
	return nil
}
