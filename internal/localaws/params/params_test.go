package params_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/countersign-mcp/countersign/internal/localaws/params"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// rig is a service, its journal and its clock.
type rig struct {
	*params.Service
	journal [][]byte
	broken  error
}

func newRig() *rig {
	r := &rig{}
	r.Service = params.New(params.Config{Now: func() time.Time { return time.Unix(1900000000, 0) }, Journal: func(record []byte) error {
		if r.broken == nil {
			r.journal = append(r.journal, slices.Clone(record))
		}
		return r.broken
	}})
	return r
}

// answer has every member that the tests look at.
type answer struct {
	Parameter         parameter
	Parameters        []parameter
	InvalidParameters []string
	NextToken         string
	Version           int
	Tier              string
}

type parameter struct {
	Name, Type, Value, Selector, Tier, Description string
	Version                                        int
}

func (r *rig) try(t testing.TB, operation, body string) (answer, error) {
	t.Helper()
	out, err := r.Do(operation, []byte(body))
	if err != nil {
		return answer{}, err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	var got answer
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%s answers %s: %v", operation, raw, err)
	}
	return got, nil
}

func (r *rig) do(t testing.TB, operation, body string) answer {
	t.Helper()
	got, err := r.try(t, operation, body)
	if err != nil {
		t.Fatalf("%s %s: %v", operation, body, err)
	}
	return got
}

func (r *rig) refused(t testing.TB, operation, body, code string) {
	t.Helper()
	_, err := r.try(t, operation, body)
	var refused *wire.Error
	if !errors.As(err, &refused) || refused.Code != code {
		t.Errorf("%s %s: %v, want %s", operation, body, err, code)
	}
}

func TestRefusedPuts(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.do(t, "PutParameter", `{"Name":"/x","Value":"v","Type":"String"}`)
	long := strings.Repeat("v", 4097)
	for _, test := range []struct{ what, body, code string }{
		{"no type", `{"Name":"/new","Value":"v"}`, wire.CodeInvalid},
		{"no value", `{"Name":"/new","Type":"String"}`, wire.CodeInvalid},
		{"a type that is none", `{"Name":"/new","Value":"v","Type":"Secret"}`, "UnsupportedParameterType"},
		{"another type", `{"Name":"/x","Value":"v","Type":"SecureString","Overwrite":true}`, "HierarchyTypeMismatchException"},
		{"a key for no secret", `{"Name":"/new","Value":"v","Type":"String","KeyId":"alias/k"}`, wire.CodeInvalid},
		{"a data type", `{"Name":"/new","Value":"v","Type":"String","DataType":"aws:ec2:image"}`, wire.CodeInvalid},
		{"a tier that is none", `{"Name":"/new","Value":"v","Type":"String","Tier":"Free"}`, wire.CodeInvalid},
		{"a long value", `{"Name":"/new","Value":"` + long + `","Type":"String"}`, wire.CodeInvalid},
		{"a value too long for any tier", `{"Name":"/new","Value":"` + long + long + `","Type":"String","Tier":"Advanced"}`, wire.CodeInvalid},
		{"a name without a slash before its levels", `{"Name":"a/b","Value":"v","Type":"String"}`, wire.CodeInvalid},
		{"an empty level", `{"Name":"/a//b","Value":"v","Type":"String"}`, wire.CodeInvalid},
		{"a slash at the end", `{"Name":"/a/","Value":"v","Type":"String"}`, wire.CodeInvalid},
		{"a reserved name", `{"Name":"/AWS/x","Value":"v","Type":"String"}`, wire.CodeInvalid},
		{"too many levels", `{"Name":"` + strings.Repeat("/l", 16) + `","Value":"v","Type":"String"}`, "HierarchyLevelLimitExceededException"},
		{"no name", `{"Value":"v","Type":"String"}`, wire.CodeInvalid},
	} {
		t.Run(test.what, func(t *testing.T) { r.refused(t, "PutParameter", test.body, test.code) })
	}
	if len(r.journal) != 1 {
		t.Errorf("refused puts left %d records", len(r.journal)-1)
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	r := newRig()
	long := strings.Repeat("v", 5000)
	for tier, want := range map[string]string{"Advanced": "Advanced", "Intelligent-Tiering": "Advanced"} {
		got := r.do(t, "PutParameter", `{"Name":"/`+tier+`","Value":"`+long+`","Type":"String","Tier":"`+tier+`"}`)
		if got.Tier != want {
			t.Errorf("tier %s stores 5,000 bytes in %q, want %q", tier, got.Tier, want)
		}
	}
}

// M3
func TestVersions(t *testing.T) {
	t.Parallel()
	r := newRig()
	for n := range 102 {
		if got := r.do(t, "PutParameter", fmt.Sprintf(`{"Name":"/x","Value":"value %d","Type":"String","Overwrite":true}`, n+1)); got.Version != n+1 {
			t.Fatalf("put %d is version %d", n+1, got.Version)
		}
	}
	for selector, want := range map[string]string{"/x": "value 102", "/x:102": "value 102", "/x:3": "value 3"} {
		if got := r.do(t, "GetParameter", `{"Name":"`+selector+`"}`); got.Parameter.Value != want {
			t.Errorf("%s reads %q, want %q", selector, got.Parameter.Value, want)
		}
	}
	r.refused(t, "GetParameter", `{"Name":"/x:2"}`, "ParameterVersionNotFound")
	r.refused(t, "GetParameter", `{"Name":"/x:103"}`, "ParameterVersionNotFound")
	r.refused(t, "GetParameter", `{"Name":"/x:label"}`, wire.CodeInvalid)
	r.refused(t, "GetParameter", `{"Name":"/y:1"}`, "ParameterNotFound")
}

// M2
func TestSecureStrings(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.do(t, "PutParameter", `{"Name":"/s/x","Value":"canary","Type":"SecureString","KeyId":"alias/k"}`)
	for operation, body := range map[string]string{
		"GetParameter": `{"Name":"/s/x"}`, "GetParameters": `{"Names":["/s/x"]}`, "GetParametersByPath": `{"Path":"/s"}`, "DescribeParameters": `{}`,
	} {
		out, err := r.Do(operation, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := json.Marshal(out); err != nil || strings.Contains(string(raw), "canary") {
			t.Errorf("%s without decryption answers %s (%v)", operation, raw, err)
		}
	}
	if got := r.do(t, "GetParametersByPath", `{"Path":"/s","WithDecryption":true}`); got.Parameters[0].Value != "canary" {
		t.Errorf("with decryption it reads %q", got.Parameters[0].Value)
	}
}

// M4: what comes and goes between two pages shifts nothing.
func TestPagesUnderChange(t *testing.T) {
	t.Parallel()
	r := newRig()
	for _, name := range []string{"b", "d", "f", "h"} {
		r.do(t, "PutParameter", `{"Name":"/a/`+name+`","Value":"v","Type":"String"}`)
	}
	first := r.do(t, "GetParametersByPath", `{"Path":"/a","MaxResults":2}`)
	r.do(t, "DeleteParameter", `{"Name":"/a/d"}`)
	for _, name := range []string{"a", "e"} {
		r.do(t, "PutParameter", `{"Name":"/a/`+name+`","Value":"v","Type":"String"}`)
	}
	second := r.do(t, "GetParametersByPath", `{"Path":"/a","MaxResults":5,"NextToken":"`+first.NextToken+`"}`)
	var names []string
	for _, p := range append(first.Parameters, second.Parameters...) {
		names = append(names, strings.TrimPrefix(p.Name, "/a/"))
	}
	if got := strings.Join(names, ""); got != "bdefh" || second.NextToken != "" {
		t.Errorf("the pages hold %q, want %q; next %q", got, "bdefh", second.NextToken)
	}
	r.refused(t, "GetParametersByPath", `{"Path":"/a","NextToken":"%%%"}`, "InvalidNextToken")
	r.refused(t, "GetParametersByPath", `{"Path":"a"}`, wire.CodeInvalid)
	r.refused(t, "GetParametersByPath", `{"Path":"/a","MaxResults":11}`, wire.CodeInvalid)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	r := newRig()
	for name, kind := range map[string]string{"/a/x": "String", "/a/b/y": "SecureString", "/ab": "String"} {
		r.do(t, "PutParameter", `{"Name":"`+name+`","Value":"v","Type":"`+kind+`","Description":"about `+name+`"}`)
	}
	for filter, want := range map[string]string{
		``: "/a/b/y /a/x /ab",
		`{"Key":"Name","Values":["/ab","/none"]}`:                                                  "/ab",
		`{"Key":"Name","Option":"BeginsWith","Values":["/a/"]}`:                                    "/a/b/y /a/x",
		`{"Key":"Path","Option":"Recursive","Values":["/a"]}`:                                      "/a/b/y /a/x",
		`{"Key":"Path","Values":["/a"]}`:                                                           "/a/x",
		`{"Key":"Type","Values":["String"]},{"Key":"Name","Option":"BeginsWith","Values":["/a/"]}`: "/a/x",
	} {
		var names []string
		for _, p := range r.do(t, "DescribeParameters", `{"ParameterFilters":[`+filter+`]}`).Parameters {
			names = append(names, p.Name)
			if p.Description != "about "+p.Name || p.Tier != "Standard" || p.Version != 1 {
				t.Errorf("described as %+v", p)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("filter %s finds %q, want %q", filter, got, want)
		}
	}
	r.refused(t, "DescribeParameters", `{"ParameterFilters":[{"Key":"Name","Values":[]}]}`, "InvalidFilterValue")
	r.refused(t, "DescribeParameters", `{"ParameterFilters":[{"Key":"Tier","Values":["Standard"]}]}`, wire.CodeInvalid)
}

// M1, and what a restart reads back.
func TestJournal(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.do(t, "PutParameter", `{"Name":"/x","Value":"1","Type":"String"}`)
	r.broken = errors.New("disk full")
	r.refused(t, "PutParameter", `{"Name":"/x","Value":"2","Overwrite":true}`, wire.CodeInternal)
	r.refused(t, "DeleteParameter", `{"Name":"/x"}`, wire.CodeInternal)
	r.broken = nil
	if got := r.do(t, "GetParameter", `{"Name":"/x"}`).Parameter; got.Value != "1" || got.Version != 1 {
		t.Errorf("the parameter reads %+v", got)
	}
	r.do(t, "PutParameter", `{"Name":"/x","Value":"2","Overwrite":true}`)
	r.do(t, "PutParameter", `{"Name":"/gone","Value":"1","Type":"String"}`)
	r.do(t, "DeleteParameter", `{"Name":"/gone"}`)

	replayed, restored := newRig(), newRig()
	for _, record := range r.journal {
		if err := replayed.Replay(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Snapshot(restored.Replay); err != nil {
		t.Fatal(err)
	}
	for name, again := range map[string]*rig{"replayed": replayed, "restored": restored} {
		if got := again.do(t, "GetParameter", `{"Name":"/x"}`).Parameter; got.Value != "2" || got.Version != 2 {
			t.Errorf("%s: the parameter reads %+v", name, got)
		}
		if got := again.do(t, "GetParameter", `{"Name":"/x:1"}`).Parameter; got.Value != "1" {
			t.Errorf("%s: version 1 reads %+v", name, got)
		}
		again.refused(t, "GetParameter", `{"Name":"/gone"}`, "ParameterNotFound")
	}
	if err := r.Replay([]byte(`{"other":1}`)); err == nil {
		t.Error("a foreign record was accepted")
	}
}
