// Package dev runs the whole product on one machine: the local stand-in for AWS with its data in a folder, the same functions
// behind local URLs through the same event conversion as on Lambda, and a demo server to call.
//
//	g, err := dev.Start(ctx, dev.Config{Dir: ".countersign", Demo: true, Console: os.Stdout, Log: log})
//	fmt.Println(g.Endpoint, g.Token)
//	defer g.Close(context.Background())
//
// Promises:
//
//	D1  what was acknowledged survives kill -9: the next Start on the same folder finds every row, key and token.
//	D2  nothing listens anywhere but on loopback.
//	D3  a Start that fails names what is wrong and the cure, and leaves nothing running.
//	D4  the token it prints works on this machine only: it is stored by hash in this folder's stand-in.
//
// It serves the command `countersign dev` and the story tests. It is no way to run a deployment.
package dev
