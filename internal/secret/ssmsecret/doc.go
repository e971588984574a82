// Package ssmsecret reads secrets from the SSM Parameter Store.
//
// A path such as "credentials/crm/mcp_token" is the parameter "/countersign/<stage>/credentials/crm/mcp_token". Values are read at
// call time and kept for a short while:
//
//	source := ssmsecret.New(ssmsecret.Config{Client: ssmClient, Prefix: "/countersign/prod", Now: time.Now})
//	token, err := source.Secret(ctx, "credentials/crm/mcp_token")
//
// Promises:
//
//	S1  an error names the full parameter and the command that stores it, never a value.
//	S2  a value is at most TTL old (default one minute): a rotated credential is used within a minute.
//	S3  a missing parameter is remembered for five seconds only, so that storing it cures the next call but a storm of
//	    calls does not become a storm of reads (Parameter Store allows 40 a second).
//
// Writing parameters is left to the command and the operator.
package ssmsecret
