// Search measures the search for tools on public questions, beside a plain BM25, and what it costs.
//
//	make bench-search DATA=<folder>
//
// The folder holds tools.json and questions.json of LiveMCPBench (github.com/icip-cas/LiveMCPBench, Apache-2.0): the tool
// definitions of public MCP servers, and questions with the steps and the tools that people annotated. It is not part of this repository;
// docs/search.md says how to get it.
//
// Printed are, for whole questions and for steps, the share of the annotated tools that is found among the first 1, 5 and 10; the same
// for the two halves of the questions, of which half A's misses were worked on and half B's were not; and index time, query time and memory at
// 500 and at 5,000 tools. The measures themselves are tested on a small made-up folder.
//
// It leaves what the search promises to the tests of internal/catalog/search.
package main
