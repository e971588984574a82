// Package diag is what is wrong with a file of the deployment, where, and how a person is shown it.
//
//	problems = append(problems, diag.Problem{File: file, Line: 2, Column: 11, Rule: diag.RuleApprovalValue, Message: "..."})
//	diag.Render(os.Stdout, problems.Sorted(), sources, diag.Options{Caret: true})
//
// Promises:
//
//	D1  a problem is one line: file, line, column, message, cure and rule; nothing in it is obeyed by a terminal.
//	D2  a source line is shown only as far as it cannot hold a credential, by the strictest rule of its problems.
//	D3  Sorted gives one order for one set of problems, without repeats.
//
// What is wrong is decided by those who read files: yamldoc for what any file can break, conn and settings for their keys.
package diag
