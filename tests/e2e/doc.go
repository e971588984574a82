// Package e2e tells the product's stories through its public doors: an MCP client over HTTP, a person with a link, an operator
// with the command, and a remote server that counts what it really executes.
//
// A story is one file of testdata/stories. It runs `countersign dev` as a process of its own, which it may kill with SIGKILL and
// start again, against a fake remote server in the test's process, which survives. The commands of a story are documented in
// commands_test.go. The same stories run over the real Lambda binaries behind the function host.
//
// Beside the stories, against a gateway in the test's own process: testdata/cases are replayable inputs of trouble that people had,
// and a runner plays their steps through the public doors (sequence_test.go); two hundred callers at once (concurrent_test.go);
// testdata/tools is tools/list as a client sees it (tools_test.go, -update writes it).
package e2e
