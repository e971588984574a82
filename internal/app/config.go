package app

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// Config is the environment of one function.
type Config struct {
	Stage  string     // "prod": names parameters (/countersign/<stage>/...) and functions (countersign-<stage>-<fn>)
	Table  string     // the ledger's table; default countersign-<stage>
	AWS    aws.Config // credentials, region, endpoint
	Bundle fs.FS      // what was deployed beside the binary: connections/, countersign.yml, catalog.json
	Now    func() time.Time
	Log    *slog.Logger

	// Output is where the console channel prints cards; ConsoleJSON makes it one JSON object a line.
	Output      io.Writer
	ConsoleJSON bool

	// Upstream makes the client of a connection. It is the seam for tests and embedders: a fake server can stand in for any
	// connection. Default: the real client.
	Upstream func(conn.Connection) gateway.Upstream

	// Values replaces the Parameter Store where a catalog is built: what the connections' variables and credentials are read from.
	Values secret.Source

	// Catalog, Connections and Approvers replace what Bundle holds, for a caller who has them already.
	Catalog     *catalog.Catalog
	Connections []conn.Connection
	Approvers   []string

	// OnceTTL and Retention go before what countersign.yml says: how long an approval under `once` is remembered, and a call after its
	// end. Zero: as the file says, or else 24 hours and 30 days.
	OnceTTL, Retention time.Duration
}

// The environment variables of a deployed function.
const (
	EnvStage   = "COUNTERSIGN_STAGE"
	EnvTable   = "COUNTERSIGN_TABLE"
	EnvConsole = "COUNTERSIGN_CONSOLE" // "json": cards as JSON lines
)

// FromEnv reads the environment of a Lambda function. The SDK itself honours AWS_REGION and AWS_ENDPOINT_URL.
func FromEnv(ctx context.Context) (Config, error) {
	stage := os.Getenv(EnvStage)
	if stage == "" {
		return Config{}, fmt.Errorf("%s is not set: the stack sets it to the name of the stage", EnvStage)
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithHTTPClient(httpClient(attemptTimeout)))
	if err != nil {
		return Config{}, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	root := os.Getenv("LAMBDA_TASK_ROOT")
	if root == "" {
		root = "."
	}
	return Config{
		Stage: stage, Table: os.Getenv(EnvTable), AWS: sdk, Bundle: os.DirFS(root), Now: time.Now,
		Log:    slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		Output: os.Stdout, ConsoleJSON: os.Getenv(EnvConsole) == "json",
	}, nil
}

// attemptTimeout bounds one attempt of one AWS request, so that the SDK's four attempts fit well inside a lease.
const attemptTimeout = 2 * time.Second

// localTimeout is its counterpart for the stand-in. That one shares its processor with every function, so a burst of calls on a
// small machine makes it slow without anything being wrong; an attempt that is given up then would only be made again.
const localTimeout = 15 * time.Second

func httpClient(timeout time.Duration) aws.HTTPClient {
	return awshttp.NewBuildableClient().WithTimeout(timeout).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 64
	})
}

// LocalAWS returns the SDK configuration for a local endpoint with AWS's API.
func LocalAWS(endpoint string) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: httpClient(localTimeout),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local", Source: "local"}, nil
		}),
	}
}

// Prefix returns the path below which this deployment's parameters are.
func (c Config) Prefix() string { return "/countersign/" + c.Stage }

// FunctionName returns the fixed name of a function of this deployment.
func (c Config) FunctionName(fn string) string { return "countersign-" + c.Stage + "-" + fn }

// Secret reads one secret of this deployment by its path below the prefix.
func (c Config) Secret(ctx context.Context, path string) (secret.Value, error) {
	return c.secrets().Secret(ctx, path)
}

// ready returns c with its defaults, or err, the error of reading it, so that each constructor takes what FromEnv returns.
func (c Config) ready(err error) (Config, error) {
	if err != nil {
		return c, err
	}
	return c.withDefaults()
}

func (c Config) withDefaults() (Config, error) {
	if c.Stage == "" {
		return c, fmt.Errorf("no stage: set %s", EnvStage)
	}
	if c.Table == "" {
		c.Table = "countersign-" + c.Stage
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Output == nil {
		c.Output = io.Discard
	}
	return c, nil
}
