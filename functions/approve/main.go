// Command approve is the approve function: the pages a person opens from a signed link. It decides and never sends.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/countersign-mcp/countersign/internal/app"
)

func main() {
	ctx := context.Background()
	config, err := app.FromEnv(ctx)
	lambda.Start(app.Must(app.Approve(ctx, config, err)))
}
