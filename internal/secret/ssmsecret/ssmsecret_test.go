package ssmsecret_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/secret"
	"github.com/countersign-mcp/countersign/internal/secret/ssmsecret"
)

const prefix = "/countersign/test"

var errThrottled = errors.New("ThrottlingException: Rate exceeded")

// store is a Parameter Store of a few parameters, which counts what it is asked.
type store struct {
	mu         sync.Mutex
	parameters map[string]string
	fails      error
	reads      int
	encrypted  int // reads that did not ask for decryption
}

func (s *store) GetParameter(_ context.Context, in *ssm.GetParameterInput, _ ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if !aws.ToBool(in.WithDecryption) {
		s.encrypted++
	}
	if s.fails != nil {
		return nil, s.fails
	}
	v, ok := s.parameters[*in.Name]
	if !ok {
		return nil, fmt.Errorf("operation error SSM: GetParameter: %w", &types.ParameterNotFound{})
	}
	return &ssm.GetParameterOutput{Parameter: &types.Parameter{Name: in.Name, Value: &v}}, nil
}

func (s *store) GetParametersByPath(_ context.Context, in *ssm.GetParametersByPathInput, _ ...func(*ssm.Options)) (*ssm.GetParametersByPathOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if !aws.ToBool(in.WithDecryption) || !aws.ToBool(in.Recursive) {
		s.encrypted++
	}
	if s.fails != nil {
		return nil, s.fails
	}
	var names []string // pages of two, in a stable order
	for i := range 100 {
		if n := fmt.Sprintf("%s/%02d", *in.Path, i); s.parameters[n] != "" {
			names = append(names, n)
		}
	}
	from := 0
	if in.NextToken != nil {
		if _, err := fmt.Sscan(*in.NextToken, &from); err != nil {
			return nil, err
		}
	}
	out := &ssm.GetParametersByPathOutput{}
	for i := from; i < min(from+2, len(names)); i++ {
		out.Parameters = append(out.Parameters, types.Parameter{Name: &names[i], Value: aws.String(s.parameters[names[i]])})
	}
	if from+2 < len(names) {
		out.NextToken = aws.String(fmt.Sprint(from + 2))
	}
	return out, nil
}

type bench struct {
	*ssmsecret.Source
	store *store
	now   time.Time
}

func newBench(parameters map[string]string) *bench {
	b := &bench{store: &store{parameters: parameters}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.Source = ssmsecret.New(ssmsecret.Config{Client: b.store, Prefix: prefix, Now: func() time.Time { return b.now }})
	return b
}

// wantReads asserts how often the store was asked so far.
func (b *bench) wantReads(t testing.TB, want int) {
	t.Helper()
	if b.store.reads != want {
		t.Errorf("%d reads, want %d", b.store.reads, want)
	}
}

// TestS1ErrorsNameTheParameterAndTheCure attacks S1.
func TestS1ErrorsNameTheParameterAndTheCure(t *testing.T) {
	t.Parallel()
	const canary = "canary-token"
	b := newBench(map[string]string{prefix + "/credentials/crm/token": canary})
	_, err := b.Secret(t.Context(), "credentials/crm/other")
	if !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("err = %v, want it to be ErrNotFound", err)
	}
	for _, want := range []string{prefix + "/credentials/crm/other", "aws ssm put-parameter", "SecureString"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("err = %v, want it to name %s", err, want)
		}
	}
	b.store.fails = errThrottled
	_, err = b.Secret(t.Context(), "vars/X")
	if errors.Is(err, secret.ErrNotFound) || !errors.Is(err, errThrottled) || !strings.Contains(fmt.Sprint(err), prefix+"/vars/X") {
		t.Errorf("err = %v, want the parameter and the reason, and not ErrNotFound", err)
	}
	_, all := b.Secrets(t.Context(), "clients")
	if !errors.Is(all, errThrottled) || !strings.Contains(fmt.Sprint(all), prefix+"/clients/") {
		t.Errorf("err = %v", all)
	}
	if strings.Contains(fmt.Sprint(err, all), canary) {
		t.Error("an error holds a value")
	}
}

// TestS2AValueIsAtMostAMinuteOld attacks S2.
func TestS2AValueIsAtMostAMinuteOld(t *testing.T) {
	t.Parallel()
	name := prefix + "/credentials/crm/token"
	b := newBench(map[string]string{name: "old"})
	read := func(want string) {
		t.Helper()
		v, err := b.Secret(t.Context(), "credentials/crm/token")
		if err != nil || v.Reveal() != want {
			t.Errorf("value = %q, %v, want %q", v.Reveal(), err, want)
		}
	}
	read("old")
	b.store.parameters[name] = "new"
	b.now = b.now.Add(time.Minute - time.Millisecond)
	read("old")
	b.wantReads(t, 1)
	b.now = b.now.Add(time.Millisecond)
	read("new")
	b.wantReads(t, 2)
	if b.store.encrypted != 0 {
		t.Error("a value was read without decryption")
	}
	b.now = b.now.Add(time.Hour)
	b.store.fails = errThrottled
	if v, err := b.Secret(t.Context(), "credentials/crm/token"); err == nil {
		t.Errorf("a value older than a minute is used: %v", v.Reveal())
	}
	b.store.fails = nil
	read("new") // an outage is not remembered
}

// TestS3AMissingParameterIsRememberedForSeconds attacks S3.
func TestS3AMissingParameterIsRememberedForSeconds(t *testing.T) {
	t.Parallel()
	b := newBench(map[string]string{})
	for range 100 {
		if _, err := b.Secret(t.Context(), "vars/X"); !errors.Is(err, secret.ErrNotFound) {
			t.Fatal(err)
		}
	}
	b.wantReads(t, 1)
	b.store.parameters[prefix+"/vars/X"] = "there"
	b.now = b.now.Add(5 * time.Second)
	if v, err := b.Secret(t.Context(), "vars/X"); err != nil || v.Reveal() != "there" {
		t.Errorf("value = %q, %v: storing it did not cure the next call", v.Reveal(), err)
	}
	b.wantReads(t, 2)
}

func TestSecretsReadsEveryPageAfresh(t *testing.T) {
	t.Parallel()
	parameters := map[string]string{prefix + "/client/00": "not below clients", prefix + "/clients2/00": "nor this"}
	for i := range 5 {
		parameters[fmt.Sprintf("%s/clients/%02d", prefix, i)] = fmt.Sprintf("v%d", i)
	}
	b := newBench(parameters)
	for range 2 {
		all, err := b.Secrets(t.Context(), "clients")
		if err != nil || len(all) != 5 {
			t.Fatalf("%d clients, %v", len(all), err)
		}
		for i := range 5 {
			if got := all[fmt.Sprintf("%02d", i)].Reveal(); got != fmt.Sprintf("v%d", i) {
				t.Errorf("client %d = %q", i, got)
			}
		}
	}
	b.wantReads(t, 6)
	if none, err := b.Secrets(t.Context(), "nothing"); err != nil || len(none) != 0 {
		t.Errorf("nothing = %v, %v", none, err)
	}
	if b.store.encrypted != 0 {
		t.Error("values were read without decryption")
	}
}

func TestAPrefixThatCannotWorkIsADefect(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"", "countersign/test", "/countersign/test/"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("prefix %q is taken", p)
				}
			}()
			ssmsecret.New(ssmsecret.Config{Client: &store{}, Prefix: p, Now: time.Now})
		}()
	}
}
