package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// searched are a connection that is searched instead of listed, for a client of whom something is known, and a call that two people decide.
func (s *scenario) searched() {
	t := s.t
	s.gateway.stop()
	s.must(os.CopyFS(s.dir, os.DirFS(filepath.Join("testdata", "later"))))
	s.flags = []string{"--context", `{"role":"clerk","desk":"north"}`}
	s.gateway = s.start(t)
	s.ask("search")
	var answer struct{ Result json.RawMessage }
	s.must(json.Unmarshal([]byte(s.ask("call-found")), &answer))
	a := s.read(string(answer.Result))
	g, id := s.gateway, a.ID
	ana, bo := g.card(t, id, "ana", "decide"), g.card(t, id, "bo", "decide")
	s.recorded["card-two"] = ana.text
	s.recorded["page-two"] = lines(words(open(t, ana.link)), "An approval covers", "Approved so far")
	s.recorded["page-context"] = between(words(open(t, ana.link)), "Context values", "Record")
	s.recorded["page-first-of-two"] = outcome(decide(t, ana.link, "approved", "Ana Lima", ""))
	s.recorded["page-one-of-two"] = lines(words(open(t, bo.link)), "An approval covers", "Approved so far")
	if result := s.await(id); s.read(result).Status != "awaiting_approval" {
		t.Errorf("with one of two approvals, the caller is told %s", result)
	}
	s.recorded["page-second-of-two"] = outcome(decide(t, bo.link, "approved", "Bo", ""))
	eventually(t, "the call is over", func() bool { return strings.Contains(s.await(id), "there are") })
	if n := s.crm.Executions("create_note"); n != 2 {
		t.Errorf("the server executed create_note %d times, want once more", n)
	}
	s.gateway.stop()
	s.flags = []string{"--context", `{"role":"visitor"}`}
	s.gateway = s.start(t)
	_, s.recorded["withheld"] = s.call("archive__create_note", `{"text":"x"}`)
	s.flags = []string{"--context", `{"role":"clerk"}`}
	s.gateway.stop()
	s.gateway = s.start(t)
	s.recorded["no-desk"], _ = s.call("archive__search", `{"q":"x"}`)
}

// lines are the lines of a page that begin so.
func lines(page string, begin ...string) string {
	var found []string
	for line := range strings.SplitSeq(page, "\n") {
		for _, prefix := range begin {
			if strings.HasPrefix(line, prefix) {
				found = append(found, line)
			}
		}
	}
	return strings.Join(found, "\n")
}

// between is the part of a page from one heading to another.
func between(page, from, to string) string {
	_, rest, _ := strings.Cut(page, from)
	part, _, _ := strings.Cut(rest, "\n"+to+"\n")
	return from + part
}
