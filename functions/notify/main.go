// Command notify is the notify function: it mints links and sends cards, and alone may read the signing key.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/countersign-mcp/countersign/internal/app"
)

func main() {
	ctx := context.Background()
	config, err := app.FromEnv(ctx)
	lambda.Start(app.Must(app.Notify(ctx, config, err)))
}
