// Command mcp is the mcp function: the MCP endpoint for clients, and the executor of approved calls.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/countersign-mcp/countersign/internal/app"
)

func main() {
	ctx := context.Background()
	config, err := app.FromEnv(ctx)
	lambda.Start(app.Must(app.MCP(ctx, config, err)))
}
