package upstream

import "github.com/countersign-mcp/countersign/internal/gateway"

// Dead reports whether the server has closed the line of a road, without using the line up.
func Dead(r gateway.Ready) bool { return len(r.(*road).line.first) > 0 }

// Seen is an observation in the words of the table's test.
type Seen struct {
	Unsent bool
	Status int
	Body   string // of the answer; the id of the request is "a1"
	Flaw   string // of an answer that is not complete
}

// Classify judges an observation.
func Classify(o Seen) string {
	s := seen{sent: !o.Unsent, status: o.Status, flaw: flaw(o.Flaw)}
	if r, ok := parseReply([]byte(o.Body), "a1"); ok {
		s.reply = r
		if r.id == anothers {
			s.flaw = otherID
		}
	} else if o.Body != "" {
		s.flaw = unreadable
	}
	return classify(s).String()
}

// Rows returns the names of the table's rows, and which of them decides an observation.
func Rows(o Seen) (all []string, decides string) {
	s := seen{sent: !o.Unsent, status: o.Status, flaw: flaw(o.Flaw)}
	if r, ok := parseReply([]byte(o.Body), "a1"); ok {
		s.reply = r
		if r.id == anothers {
			s.flaw = otherID
		}
	}
	for _, r := range table() {
		all = append(all, r.name)
		if decides == "" && r.holds(s) {
			decides = r.name
		}
	}
	return all, decides
}
