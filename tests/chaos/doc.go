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
//	report := rig.RunAll(chaos.Random(1, 1000), 8, nil) // 1,000 runs, each derived from one seed
//	base, err := rig.Baselines(chaos.Flows(), 8)        // every flow without a fault
//	singles := chaos.Singles(base, chaos.Flows())       // every flow x every boundary x every action
//	result := rig.Run(chaos.Case{Seed: 17})              // one of them again
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
//	K5  the event chain of every row is contiguous and hashes to its head.
//	K6  a row that completed by a result ran, and holds the bytes of one of its executions; whoever was told a result was told such bytes.
//	K7  nothing strands: every row ends.
//	K8  no two callers are told final things that contradict each other.
//	K9  no execution without its claim: it belongs to a row, by the owner of one of the row's starts, and a gated one was approved.
//	K10 one exchange with the ledger that fails (not a kill) costs nothing: the run ends as it would have without.
//	K11 calls whose effect the operator named (dedupe_key) run, all together, no more often than one of them may.
//	K12 what a caller was told that a read-only tool read stands in the ledger, and the ledger records no other read.
//	K13 what a person is shown about a doubt is what the tool of verify_with answered about this very call.
//
// How often a doubt was right (it had run) and false (it had not) is counted by flow and reported: false ones are safe and cost a
// person's time.
//
// Time: the binaries have the machine's clock. Leases and their margin are longer than a run, so sweeps, and people and executors whose
// clock is off, are played by a gateway in this process, on the same table, with a clock that is seconds to days ahead or four seconds
// behind. Where the platform would wait a minute before it invokes an executor again, the leases of the rows move a minute into the past.
//
// A run replays from its text (Case.String). All actors of a run, that is clients, people, sweeps, asynchronous invokes, late writes and
// the processes that work for them, go one at a time; who is next is drawn from the seed at every exchange (turns.go), and ids derive
// from the case. What is not in the seed, and so may differ in a replay:
//
//   - the ids of ungated calls without a key, which the function draws, and with them the order in which one sweep meets two of them;
//   - how long the SDK waits after it was throttled, which it draws: seconds. After several throttles in a row it decides by its own
//     limits, and the gateway by its own, whether there is one more try; and an approval may by then be old enough to be looked at again;
//   - a machine so busy that a function does not come to its next exchange within six seconds: then another actor goes on (the report
//     counts such runs), or that a claim is reached later than what is left of a function's time allows (the flows that hang).
//
// Left to others: power cuts of the store (localaws), the transport's own traps (upstream), timing of leases (gateway, with its fake
// clock). Several approvals of one call, cancelling by tasks/cancel and tasks of the remote's own are not reachable through the public
// endpoint yet, so no flow has them; tests/model searches their transitions.
package chaos
