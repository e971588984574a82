package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-mcp/countersign/internal/catalog/search"
)

// tool is one tool as a gateway would serve it: name is the server's own, doc.Name the served one.
type tool struct {
	name  string
	doc   search.Doc
	about string // what its server says of itself
}

// question is one annotated question.
type question struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Steps    string   `json:"steps"` // one a line
	Tools    []string `json:"tools"` // by the server's own names
}

func (q question) whole() []string { return []string{q.Question} }

var stepNumber = regexp.MustCompile(`^\s*\d+[.)]\s*`)

func (q question) steps() []string {
	var steps []string
	for line := range strings.Lines(q.Steps) {
		if line = strings.TrimSpace(stepNumber.ReplaceAllString(line, "")); line != "" {
			steps = append(steps, line)
		}
	}
	return steps
}

// half splits the questions by a hash of their id, so that the halves stay the same when questions are added.
func half(all []question, which uint32) []question {
	var part []question
	for _, q := range all {
		h := fnv.New32a()
		h.Write([]byte(q.ID))
		if h.Sum32()>>7&1 == which {
			part = append(part, q)
		}
	}
	return part
}

func load(folder string) ([]tool, []question, error) {
	var servers []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Tools       map[string]struct {
			Tools []struct {
				Name        string `json:"name"`
				Title       string `json:"title"`
				Description string `json:"description"`
				InputSchema struct {
					Properties map[string]json.RawMessage `json:"properties"`
				} `json:"inputSchema"`
			} `json:"tools"`
		} `json:"tools"`
	}
	if err := read(filepath.Join(folder, "tools.json"), &servers); err != nil {
		return nil, nil, err
	}
	var questions []question
	if err := read(filepath.Join(folder, "questions.json"), &questions); err != nil {
		return nil, nil, err
	}
	var tools []tool
	for _, s := range servers {
		for _, key := range slices.Sorted(maps.Keys(s.Tools)) {
			connection := strings.ToLower(strings.ReplaceAll(key, " ", "-"))
			for _, t := range s.Tools[key].Tools {
				one := tool{name: t.Name, about: s.Name + ". " + s.Description, doc: search.Doc{
					Name: connection + "__" + t.Name, Connection: connection, Title: t.Title, Description: t.Description,
				}}
				one.doc.About = one.about
				for _, name := range slices.Sorted(maps.Keys(t.InputSchema.Properties)) {
					var schema struct {
						Description string `json:"description"`
					}
					// A property may be true or false, which describes nothing.
					if json.Unmarshal(t.InputSchema.Properties[name], &schema) != nil {
						schema.Description = ""
					}
					one.doc.Params = append(one.doc.Params, search.Param{Name: name, Description: schema.Description})
				}
				tools = append(tools, one)
			}
		}
	}
	return tools, questions, nil
}

func read(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errNoData)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

func docs(tools []tool) []search.Doc {
	all := make([]search.Doc, len(tools))
	for i, t := range tools {
		all[i] = t.doc
	}
	return all
}

// withoutAbout is the catalog of a gateway that knows no more of a server than its tools.
func withoutAbout(tools []tool) []tool {
	bare := slices.Clone(tools)
	for i := range bare {
		bare[i].about, bare[i].doc.About = "", ""
	}
	return bare
}

func connections(tools []tool) int {
	seen := map[string]bool{}
	for _, t := range tools {
		seen[t.doc.Connection] = true
	}
	return len(seen)
}
