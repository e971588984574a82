// Package arch keeps the shape of the project: who may import whom, that every package says what it is for, that no
// file or package outgrows a reader, and that no path of somebody's machine is left in the tree.
//
// The checks read the files of the tree and nothing else. They run no "go list", so that the test cache knows every file
// they depend on: a cached pass is a true pass.
//
//	problems, err := arch.Imports(os.DirFS(root), arch.Project)
//	for _, p := range problems {
//		t.Error(p)
//	}
//
// # Promises
//
//   - A1: an import points to a lower tier, inside its own family, or is one of the same-tier edges listed by name. Tests are
//     free: the arrows are about what is shipped.
//   - A2: a package that the table does not know is a problem, and the message says where to add it.
//   - A3: tiers 0 to 2 import no AWS module, and nothing but mcpserver and upstream imports mcp-go.
//   - A4: what is shipped imports neither "testing" nor a test kit.
//   - A5: every package of tiers 0 to 4 has a doc.go with a package comment.
//   - A6: no file that is shipped has more than 600 lines that are not blank, no package but a test kit more than 1,800 of code, no main of a
//     function more than 40.
//   - A7: no text file names a home directory or the place of the checkout.
//
// The table itself is in table.go. The meaning of the tiers is in docs/architecture.md; a new same-tier edge needs a record
// in docs/decisions.
package arch
