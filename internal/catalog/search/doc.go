// Package search finds the tools that a question in plain words is about.
//
// A model that is shown two thousand tools chooses badly, so connections can be kept out of tools/list and searched instead. The
// search runs inside the function that serves the call: no network, no model, no service, the same answer for the same catalog.
// It is BM25 over weighted fields (Robertson, Zaragoza: "The Probabilistic Relevance Framework: BM25 and Beyond", 2009), over stems,
// with a small thesaurus, word relations learned from the catalog, and a question taken apart into its clauses. docs/search.md
// has the reasons and the figures.
//
//	index := search.Build([]search.Doc{{
//		Name: "crm__create_note", Connection: "crm", Description: "Adds a note to a customer.",
//		Params: []search.Param{{Name: "text", Description: "what the note says"}},
//	}})
//	file, err := index.Encode() // at deploy; at run time: index, err := search.Decode(file)
//	hits := index.Search("write down what the client said", 5, func(doc int) bool { return allowed[doc] })
//	best := hits[0].Doc // the place in the slice that Build was given
//
// Promises:
//
//	S1  Build, Encode and Search are functions of their arguments: the same documents give the same bytes, the same question the same hits.
//	S2  A document that visible refuses is in no answer and takes no place of one: the filter runs before the cut at k.
//	S3  At most k hits, none twice, the best first; the first hits of a longer answer are the shorter answer.
//	S4  The exact name of a visible tool, as the whole question, finds that tool first; so does an exact name with an underscore
//	    anywhere in a question.
//	S5  No text makes it panic, and time and memory are bounded: of a question the first MaxQuery characters are read, of a
//	    document the first maxText of each text and maxParams parameters, and relations are learned for maxVocabulary words.
//	S6  Decode gives back what was encoded, and refuses bytes that are cut or changed so that they make no sense.
//
// It leaves to others: who may see a tool (gateway), and what a tool's definition says (catalog).
package search
