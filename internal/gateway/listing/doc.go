// Package listing answers tools/list: the tools that one caller may see, in pages, from definitions that were rendered when the
// catalog was built.
//
//	lists := listing.New(catalog.Tools, listing.Limits{})
//	page, err := lists.Page(listing.Audience{
//		Key:   scopesAndContext,                          // equal keys see equal lists
//		Shows: func(t *catalog.Tool) bool { ... },        // asked once for each tool and key
//		Own:   func() []json.RawMessage { ... },          // the gateway's own tools, shown last
//	}, cursor, legacy)
//	page.Tools                                            // a JSON array
//	page.Next                                             // the cursor of the next page; empty: that was the last one
//
// Which tools a caller sees is worked out, and their definitions are put together, when a caller of that kind asks first. Whoever asks
// afterwards is given the same bytes, whatever the size of the catalog. The memory for that is bounded.
//
// Promises:
//
//	Q1  following the cursors from the start gives each tool that the audience is shown exactly once, in the order of the catalog,
//	    with the gateway's own tools last.
//	Q2  a page holds at most Limits.Tools tools and Limits.Bytes bytes, or one tool that is larger than that.
//	Q3  a cursor holds for exactly the list that it was given out with: one of a list that differs in any byte, by a deployment or by
//	    what the caller may see, is refused with what to do, and never continues somewhere in another list.
//	Q4  a cursor carries no authority: a forged one leads to nothing but the asker's own list.
//	Q5  a list that was put together before is answered without a look at its tools, and equal audiences share its bytes.
//	Q6  what is kept is bounded, by the number of lists, their bytes and the number of audiences, but for the list asked for last; what
//	    is dropped is put together anew.
//	Q7  a legacy list has no output schema but those that describe an object, and is otherwise the modern one, page by page.
//
// It leaves to others: who may see a tool (gateway), what a definition is (catalog), and the message around a page (mcpserver).
package listing
