// Package awscheck holds an endpoint against what AWS documents of DynamoDB and Parameter
// Store: some eighty named checks, driven by aws-sdk-go-v2, each of which says the rule
// it stands on. They keep the local stand-in honest, and run unchanged against any other
// endpoint:
//
//	awscheck.Run(t, "http://127.0.0.1:4566")    // a stand-in
//	awscheck.Run(t, "")                         // the account of the AWS environment variables
//
// The package's own test runs them against an in-process stand-in, or against
// AWS_ENDPOINT_URL when that is set:
//
//	go test ./internal/localaws/awscheck
//	AWS_ENDPOINT_URL=http://127.0.0.1:4566 go test -count=1 ./internal/localaws/awscheck
//
// Every run has a table and parameter names of its own and deletes them at its end, so an
// endpoint can be shared. Against an account a run costs a few cents at most.
//
// Left out is the check that DynamoDB's reserved words are refused as attribute names: in
// this project every attribute name goes through a #placeholder, so no expression can
// contain one, and the stand-in keeps no list of them.
package awscheck
