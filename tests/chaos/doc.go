// Package chaos kills the functions of this project everywhere and looks whether a call was ever made twice.
//
// It runs the real Lambda binaries, built from this tree, and owns everything they talk to: the Lambda Runtime API, DynamoDB and
// Parameter Store (the local stand-in), the Invoke API, the remote MCP server, the clients and the approvers' browsers. A function has no
// state of its own, so the only crash states that differ lie between two network exchanges. Each exchange is a boundary; at each one the
// rig can do one of nine things to the function or to the exchange (Actions). Processes die by SIGKILL, as at a Lambda timeout, and the
// binaries hold nothing made for tests.
//
//	rig, err := chaos.NewRig(ctx, chaos.Config{})
//	defer rig.Close()
//	report := rig.RunAll(chaos.Random(1, 1000), 12)    // 1,000 runs, each derived from one seed
//	singles, err := rig.Singles(chaos.Flows())         // every flow x every boundary x every action
//	result := rig.Run(chaos.Case{Seed: 17})             // one of them again
//
// The command beside this package prints what it measured:
//
//	go run ./tests/chaos/run -singles -random 1000
//
// What is checked after every run (judge.go names these where it checks them), once sweeps with clocks of tomorrow, and a person who
// settles doubts, have brought every row to its end:
//
//	K1  executions of an at_most_once invocation <= 1 + the times a named person had it run again.
//	K2  declined, expired, cancelled and not_executed, in the row or told to anybody, mean 0 executions.
//	K3  at most one decision per parked call.
//	K4  a terminal row never changes again, whatever hints, sweeps and decisions still come.
//	K5  the event chain of every row verifies.
//	K6  a row that completed by a result holds the bytes of one of its executions, and whoever was told a result was told such bytes.
//	K7  nothing strands: every row ends.
//	K8  no two callers are told final things that contradict each other.
//	K9  no execution without its claim: it belongs to a row, by the owner of one of the row's starts, and a gated one was approved.
//	K10 one exchange with the ledger that fails (not a kill) costs nothing: the run ends as it would have without.
//
// How often a doubt was right (it had run) and wrong (it had not) is counted and reported: wrong ones are safe and cost a person's time.
//
// Time: the binaries have the machine's clock. Leases and their margin are longer than a run, so sweeps are made by a gateway in this
// process, on the same table, with a clock that is ahead by seconds to days; that is also how skewed clocks are played.
//
// A run replays from its text (Case.String) as far as the scheduling of processes allows: flows do one thing at a time and replay
// exactly; random runs have clients, approvers and sweeps at once.
//
// Left to others: power cuts of the store (localaws), the transport's own traps (upstream), timing of leases (gateway, with its fake clock).
package chaos
