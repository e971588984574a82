package ssmsecret

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/secret"
)

// Client is the part of the SSM client that is used here.
type Client interface {
	GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
	GetParametersByPath(context.Context, *ssm.GetParametersByPathInput, ...func(*ssm.Options)) (*ssm.GetParametersByPathOutput, error)
}

// Config configures a Source. All fields but TTL are required.
type Config struct {
	Client Client
	Prefix string           // "/countersign/<stage>", without a slash at the end
	Now    func() time.Time // for the age of cached values
	TTL    time.Duration    // how long a value is used; zero is one minute
}

const missingFor = 5 * time.Second

// Source implements secret.Source and secret.Lister.
type Source struct {
	config Config
	mu     sync.Mutex
	cache  map[string]cached
}

type cached struct {
	value secret.Value
	err   error
	until time.Time
}

// New returns a Source.
func New(c Config) *Source {
	if c.Client == nil || c.Now == nil || !strings.HasPrefix(c.Prefix, "/") || strings.HasSuffix(c.Prefix, "/") {
		panic("ssmsecret.New: Client, Now and a Prefix like /countersign/prod are required")
	}
	if c.TTL == 0 {
		c.TTL = time.Minute
	}
	return &Source{config: c, cache: map[string]cached{}}
}

// Secret reads one parameter, decrypted (S1, S2, S3).
func (s *Source) Secret(ctx context.Context, path string) (secret.Value, error) {
	now := s.config.Now()
	s.mu.Lock()
	hit, ok := s.cache[path]
	s.mu.Unlock()
	if ok && now.Before(hit.until) {
		return hit.value, hit.err
	}
	name := s.config.Prefix + "/" + path
	out, err := s.config.Client.GetParameter(ctx, &ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(true)})
	var missing *types.ParameterNotFound
	switch {
	case errors.As(err, &missing):
		err = fmt.Errorf("%w: %s is not in the Parameter Store; store it with: aws ssm put-parameter --type SecureString --name %s --value SECRET", secret.ErrNotFound, name, name)
		s.keep(path, cached{err: err, until: now.Add(missingFor)})
		return secret.Value{}, err
	case err != nil:
		return secret.Value{}, fmt.Errorf("reading %s from the Parameter Store: %w", name, err)
	}
	value := secret.New(aws.ToString(out.Parameter.Value))
	s.keep(path, cached{value: value, until: now.Add(s.config.TTL)})
	return value, nil
}

func (s *Source) keep(path string, c cached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache[path] = c
}

// Secrets reads every parameter below path, decrypted and uncached: its callers keep what they read.
func (s *Source) Secrets(ctx context.Context, path string) (map[string]secret.Value, error) {
	base := s.config.Prefix + "/" + path
	pages := ssm.NewGetParametersByPathPaginator(s.config.Client, &ssm.GetParametersByPathInput{
		Path: &base, Recursive: aws.Bool(true), WithDecryption: aws.Bool(true), MaxResults: aws.Int32(10),
	})
	out := map[string]secret.Value{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading %s/ from the Parameter Store: %w", base, err)
		}
		for _, p := range page.Parameters {
			out[strings.TrimPrefix(aws.ToString(p.Name), base+"/")] = secret.New(aws.ToString(p.Value))
		}
	}
	return out, nil
}
