package params

import (
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// Config says what a service needs from its surroundings. Both fields are required.
type Config struct {
	Now     func() time.Time          // for modification dates
	Journal func(record []byte) error // makes a record durable; called in the order of effects
}

// Service holds the parameters. Its methods may be called concurrently.
type Service struct {
	config     Config
	mu         sync.RWMutex
	parameters map[string]*parameter
}

// maxVersions is how many versions of a parameter are kept.
const maxVersions = 100

// parameter is a name and its kept versions, oldest first.
type parameter struct{ versions []version }

// version is one value of a parameter; it is also the journal's form.
type version struct {
	Name        string    `json:"name"`
	Type        string    `json:"type"`
	Value       string    `json:"value"`
	Version     int       `json:"version"`
	Tier        string    `json:"tier"`
	Description string    `json:"description,omitzero"`
	KeyID       string    `json:"key_id,omitzero"`
	ModifiedAt  time.Time `json:"modified_at"`
}

func (p *parameter) latest() version { return p.versions[len(p.versions)-1] }

// New returns a service without parameters.
func New(config Config) *Service {
	if config.Now == nil || config.Journal == nil {
		panic("params.New: Now and Journal are required")
	}
	return &Service{config: config, parameters: map[string]*parameter{}}
}

// Do carries out one operation and returns the answer's body. Errors are *wire.Error.
func (s *Service) Do(operation string, body []byte) (any, error) {
	switch operation {
	case "PutParameter":
		return s.putParameter(body)
	case "GetParameter":
		return s.getParameter(body)
	case "GetParameters":
		return s.getParameters(body)
	case "GetParametersByPath":
		return s.getParametersByPath(body)
	case "DescribeParameters":
		return s.describeParameters(body)
	case "DeleteParameter":
		return s.deleteParameter(body)
	}
	return nil, wire.NotImplemented("Systems Manager " + operation)
}

// record is the journal's form of one step; exactly one field is set.
type record struct {
	Put    *version `json:"put,omitzero"`
	Delete string   `json:"delete,omitzero"`
}

// commit journals a step and then carries it out (M1). The caller holds the lock.
func (s *Service) commit(step record) error {
	line, err := json.Marshal(step)
	if err == nil {
		err = s.config.Journal(line)
	}
	if err != nil {
		return wire.Internal(err.Error())
	}
	s.apply(step)
	return nil
}

func (s *Service) apply(step record) {
	if step.Put == nil {
		delete(s.parameters, step.Delete)
		return
	}
	p := s.parameters[step.Put.Name]
	if p == nil {
		p = &parameter{}
		s.parameters[step.Put.Name] = p
	}
	p.versions = append(p.versions, *step.Put)
	if over := len(p.versions) - maxVersions; over > 0 {
		p.versions = slices.Delete(p.versions, 0, over)
	}
}

// Replay carries out a record that Journal was given, or Snapshot emitted, before.
func (s *Service) Replay(line []byte) error {
	var step record
	if err := json.Unmarshal(line, &step, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply(step)
	return nil
}

// Snapshot emits records that lead a new service to this one's state.
func (s *Service) Snapshot(emit func(record []byte) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range s.names() {
		for _, v := range s.parameters[name].versions {
			line, err := json.Marshal(record{Put: &v})
			if err != nil {
				return err
			}
			if err := emit(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// names are all names in order. The caller holds the lock.
func (s *Service) names() []string {
	out := make([]string, 0, len(s.parameters))
	for name := range s.parameters {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
