// Package localaws is the local stand-in: the part of DynamoDB and of Systems Manager
// Parameter Store that this project uses, over the AWS wire protocol, in this process. It
// serves `countersign dev`, and it is the rig in which tests crash the gateway.
//
//	server, err := localaws.Open(localaws.Config{Dir: ".countersign/aws"})
//	defer server.Close()
//	go http.Serve(listener, server)                        // AWS_ENDPOINT_URL=http://127.0.0.1:port
//	server.Mount("/2015-03-31/functions/", invoker)        // another API on the same port
//	server.Faults().Add(chaos.Rule{Kind: chaos.DropAfter, Operation: "UpdateItem"})
//	server.Accounting().Total().WCU
//
// The same over HTTP, for a rig in another process: POST /_faults with a rule or a list of
// them, GET and DELETE /_faults, POST /_faults/release for ghost writes; GET and DELETE
// /_accounting.
//
// It promises:
//
//	A1  What was acknowledged is there after kill -9 and a restart on the same folder; with
//	    Config.Fsync, after a power cut too. Nothing that was answered, even by a read,
//	    depends on something less durable.
//	A2  Operations and parameters that are not implemented are refused by name.
//	A3  A fault does exactly what its kind says, and only to the requests of its rule.
//	A4  Web pages cannot use it: a request with an Origin is refused, because any page that
//	    a developer visits can reach a loopback port, and there are no credentials here.
//
// It is not a product: any credentials are accepted, there is no console and no other
// service, and it must not listen beyond loopback. What DynamoDB does is in package dynamo,
// Parameter Store in params, the file in wal, faults in chaos, costs in accounting; the
// suite that holds it against AWS is awscheck.
package localaws
