package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-mcp/countersign/internal/catalog/search"
	"github.com/countersign-mcp/countersign/internal/conn"
)

// searching is the search index, read from the file at its first use: most cold starts search for nothing.
type searching struct {
	once  sync.Once
	index *search.Index
}

// Search returns the k tools that a question in plain words is about, the best first, of those that visible accepts.
func (c *Catalog) Search(query string, k int, visible func(*Tool) bool) []*Tool {
	c.searching.once.Do(func() {
		var err error
		if c.searching.index, err = search.Decode(c.Index); err != nil || len(c.Index) == 0 {
			c.searching.index = search.Build(c.documents()) // the same answers, later
		}
	})
	var found []*Tool
	for _, hit := range c.searching.index.Search(query, k, func(doc int) bool { return doc < len(c.Tools) && visible(c.Tools[doc]) }) {
		found = append(found, c.Tools[hit.Doc])
	}
	return found
}

// prepare makes the index, where something is searched for at all.
func (c *Catalog) prepare(conns []conn.Connection) error {
	if !slices.ContainsFunc(conns, func(cn conn.Connection) bool { return cn.Discoverable }) {
		return nil
	}
	var err error
	c.Index, err = search.Build(c.documents()).Encode()
	return err
}

// documents are the tools as they are searched, in the order of Tools, which is how a hit leads back to its tool.
func (c *Catalog) documents() []search.Doc {
	about := map[string]string{}
	for name, server := range c.Servers {
		about[name] = aboutServer(server.Info)
	}
	docs := make([]search.Doc, len(c.Tools))
	for i, t := range c.Tools {
		var d struct {
			Title       words `json:"title"`
			Description words `json:"description"`
			Annotations struct {
				Title words `json:"title"`
			} `json:"annotations"`
		}
		_ = json.Unmarshal(t.Served, &d) // what is of another type says nothing to search for
		title := d.Title
		if title == "" {
			title = d.Annotations.Title
		}
		docs[i] = search.Doc{
			Name: t.Name, Connection: t.Connection, About: about[t.Connection],
			Title: string(title), Description: string(d.Description), Params: parameters(t.Input),
		}
	}
	return docs
}

// aboutServer is what a server calls itself, and what it says it is for. Its instructions are not looked at: they are not served either.
func aboutServer(info json.RawMessage) string {
	var i struct{ Name, Title, Description words }
	_ = json.Unmarshal(info, &i)
	if i.Title == "" {
		i.Title = i.Name
	}
	return strings.TrimSpace(string(i.Title) + " " + string(i.Description))
}

func parameters(input json.RawMessage) []search.Param {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(input, &schema)
	var all []search.Param
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		var property struct {
			Description words `json:"description"`
		}
		_ = json.Unmarshal(schema.Properties[name], &property) // true and false are schemas, too
		all = append(all, search.Param{Name: name, Description: string(property.Description)})
	}
	return all
}

// words is a text, or nothing where a server sends something else in its place.
type words string

// UnmarshalJSON never fails: what is no text must not hide its neighbours.
func (w *words) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*w = words(text)
	}
	return nil
}
