package params

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

type getInput struct {
	Name           string
	WithDecryption bool
}

type getManyInput struct {
	Names          []string
	WithDecryption bool
}

// shown is a parameter in answers.
type shown struct {
	Name             string
	Type             string
	Value            string
	Version          int
	Selector         string  `json:",omitempty"`
	LastModifiedDate float64 // seconds since the epoch
	ARN              string
	DataType         string
}

func (v version) show(selector string, decrypt bool) shown {
	out := shown{Name: v.Name, Type: v.Type, Value: v.Value, Version: v.Version, Selector: selector,
		LastModifiedDate: v.modified(), ARN: v.arn(), DataType: "text"}
	if v.Type == typeSecureString && !decrypt { // M2
		sum := sha256.Sum256(fmt.Appendf(nil, "%s:%d:%s", v.Name, v.Version, v.Value))
		out.Value = "AQICAH" + base64.StdEncoding.EncodeToString(sum[:])
	}
	return out
}

func (v version) modified() float64 { return float64(v.ModifiedAt.UnixMilli()) / 1000 }

func (v version) arn() string {
	return "arn:aws:ssm:us-east-1:000000000000:parameter/" + strings.TrimPrefix(v.Name, "/")
}

// find resolves a name, with an optional :version behind it. The caller holds the lock.
func (s *Service) find(reference string, decrypt bool) (shown, error) {
	name, number, selected := strings.Cut(reference, ":")
	p := s.parameters[name]
	if p == nil {
		return shown{}, notFound(reference)
	}
	if !selected {
		return p.latest().show("", decrypt), nil
	}
	wanted, err := strconv.Atoi(number)
	if err != nil {
		return shown{}, wire.Invalid("the local stand-in does not implement labels: %s selects no version number", reference)
	}
	for _, v := range p.versions { // M3
		if v.Version == wanted {
			return v.show(":"+number, decrypt), nil
		}
	}
	return shown{}, refuse("ParameterVersionNotFound", "Systems Manager could not find version "+number+" of "+name+". Verify the version and try again.")
}

func (s *Service) getParameter(body []byte) (any, error) {
	var in getInput
	if err := wire.Decode("GetParameter", body, &in); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	found, err := s.find(in.Name, in.WithDecryption)
	if err != nil {
		return nil, err
	}
	return map[string]any{"Parameter": found}, nil
}

// maxGet is the number of names one GetParameters may ask for.
const maxGet = 10

type getManyOutput struct {
	Parameters        []shown
	InvalidParameters []string
}

func (s *Service) getParameters(body []byte) (any, error) {
	var in getManyInput
	if err := wire.Decode("GetParameters", body, &in); err != nil {
		return nil, err
	}
	if len(in.Names) == 0 || len(in.Names) > maxGet {
		return nil, wire.Invalid("1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length less than or equal to %d, greater than or equal to 1", maxGet)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := getManyOutput{Parameters: []shown{}, InvalidParameters: []string{}}
	for _, name := range in.Names {
		if found, err := s.find(name, in.WithDecryption); err == nil {
			out.Parameters = append(out.Parameters, found)
		} else {
			out.InvalidParameters = append(out.InvalidParameters, name)
		}
	}
	return out, nil
}
