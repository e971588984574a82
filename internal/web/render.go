package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
)

//go:embed templates/*.html
var templateFiles embed.FS

// templates is parsed once; it is never changed afterwards.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(styleSheet) }, // our own file, hashed in the policy
}).ParseFS(templateFiles, "templates/*.html"))

// maxWeight is the most that one answer may weigh: a function URL delivers 6 MB of
// JSON, in which the page is one string.
const maxWeight = 5_500_000

// weight is the length of page inside a JSON string as Go writes it, where markup
// characters take six bytes and quotes and line breaks two.
func weight(page []byte) int {
	n := len(page)
	for _, c := range page {
		switch c {
		case '<', '>', '&':
			n += 5
		case '"', '\\', '\n', '\r', '\t':
			n++
		}
	}
	return n
}

// html renders the page of a call. It cannot fail on data: the templates use only
// fields that exist, which the tests render all of.
func (m *page) html() []byte {
	out, err := execute("call.html", m)
	if err != nil {
		panic(err)
	}
	return out
}

func execute(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	err := templates.ExecuteTemplate(&out, name, data)
	return out.Bytes(), err
}

func (p *pages) render(w http.ResponseWriter, r *http.Request, status int, m *page) {
	write(w, r, status, m.html())
}

func (p *pages) message(w http.ResponseWriter, r *http.Request, status int, m message) {
	page := struct {
		message
		RequestID string
	}{m, ""}
	if status >= http.StatusInternalServerError {
		page.RequestID = p.RequestID(r)
	}
	out, err := execute("message.html", page)
	if err != nil {
		p.Log.Error("message page not rendered", "err", err)
		out = []byte("Something went wrong on our side. Open the link again to see what stands.\n")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	write(w, r, status, out)
}

// write sends a whole page or, for HEAD, its headers.
func write(w http.ResponseWriter, r *http.Request, status int, page []byte) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(page) // a reader who left cannot be told
	}
}
