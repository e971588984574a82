package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// deployment says which deployment an operator's command works on: a stage in AWS, or the local gateway of a folder.
type deployment struct {
	stage string
	data  string
}

func (d *deployment) flags(fs *flag.FlagSet) {
	fs.StringVar(&d.stage, "stage", "", "")
	fs.StringVar(&d.data, "data", ".countersign", "")
}

const deploymentFlags = `The command works on the local gateway of --data (default .countersign), or with --stage on that deployment in AWS, with the
credentials and region of the environment.`

// open connects to the deployment.
func (d *deployment) open(ctx context.Context) (*app.Operator, error) {
	if d.stage != "" {
		sdk, err := awsconfig.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, environment(fmt.Errorf("reading the AWS configuration: %w", err), "set AWS_PROFILE or AWS_REGION")
		}
		if sdk.Region == "" {
			return nil, environment(errors.New("no AWS region is set"), "set AWS_REGION")
		}
		return operator(ctx, app.Config{Stage: d.stage, AWS: sdk, Bundle: os.DirFS("."), Now: time.Now})
	}
	state, err := dev.ReadState(d.data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, environment(fmt.Errorf("no local gateway has run on %s", d.data), "start one with: countersign dev, or name a deployment with --stage")
	}
	if err != nil {
		return nil, environment(err, "")
	}
	now, err := d.clock()
	if err != nil {
		return nil, err
	}
	sdk := app.LocalAWS(state.AWSEndpoint)
	sdk.RetryMaxAttempts = 2
	return operator(ctx, app.Config{Stage: state.Stage, Table: state.Table, AWS: sdk, Approvers: state.Approvers, OnceTTL: state.OnceTTL,
		Retention: state.Retention, Now: now})
}

// clock is the deployment's clock: the machine's, or that of a local gateway that was started with --clock. A decision on an expired
// call must not depend on which of the two makes it.
func (d *deployment) clock() (func() time.Time, error) {
	if d.stage != "" {
		return time.Now, nil
	}
	state, err := dev.ReadState(d.data)
	if err != nil || state.Clock == "" {
		return time.Now, nil // open says what is wrong with the state
	}
	now, err := shiftedClock(state.Clock)
	if err != nil {
		return nil, environment(fmt.Errorf("the gateway of %s was started with --clock: %w", d.data, err), "start it again: countersign dev")
	}
	return now, nil
}

func operator(ctx context.Context, c app.Config) (*app.Operator, error) {
	o, err := app.NewOperator(ctx, c)
	if err != nil {
		return nil, environment(err, "")
	}
	return o, nil
}

// reach words an error of the ledger for a command: a deployment that does not answer is the environment's fault.
func (d *deployment) reach(err error) error {
	if err == nil {
		return nil
	}
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.Forbidden, fault.NotFound, fault.Conflict, fault.Expired:
		return errors.New(fault.MessageOf(err))
	}
	if errors.Is(err, ledger.ErrUnreadable) {
		return &failure{code: exitProblems, err: err, hint: "something else than this gateway has written to the table"}
	}
	if d.stage == "" && errors.Is(err, syscall.ECONNREFUSED) {
		return environment(fmt.Errorf("the local gateway of %s does not run", d.data), "start it with: countersign dev")
	}
	if d.stage == "" {
		return environment(fmt.Errorf("the local gateway of %s does not answer as it should: %w", d.data, err), "countersign dev --log shows what it does")
	}
	return environment(err, "are AWS_REGION, the credentials and --stage those of the deployment?")
}

// parseID reads an invocation id from the command line.
func parseID(args []string) (ledger.ID, error) {
	if len(args) == 0 {
		return "", usageError("which call? give its id: inv_...")
	}
	key, err := ledger.ParseID(args[0])
	if err != nil {
		return "", usageError("%q is not an invocation id: it looks like inv_..., countersign pending lists them", args[0])
	}
	return key.ID(), nil
}
