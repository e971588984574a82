// Command expire is the expire function: the schedule's target: expiry, lost work and the daily scan.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/countersign-mcp/countersign/internal/app"
)

func main() {
	ctx := context.Background()
	config, err := app.FromEnv(ctx)
	lambda.Start(app.Must(app.Expire(ctx, config, err)))
}
