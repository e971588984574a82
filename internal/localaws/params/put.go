package params

import (
	"regexp"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// The three types and the two tiers of parameters.
const (
	typeString       = "String"
	typeStringList   = "StringList"
	typeSecureString = "SecureString"

	tierStandard    = "Standard"
	tierAdvanced    = "Advanced"
	tierIntelligent = "Intelligent-Tiering"
)

// Limits in bytes and levels.
const (
	maxStandard = 4 << 10
	maxAdvanced = 8 << 10
	maxName     = 2048
	maxLevels   = 15
)

type putInput struct {
	Name        string
	Value       string
	Type        string
	Description string
	KeyId       string
	Overwrite   bool
	Tier        string
	DataType    string
}

type putOutput struct {
	Version int
	Tier    string
}

func refuse(code, message string) error { return &wire.Error{Code: code, Message: message} }

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_.\-/]+$`)

func checkName(name string) error {
	levels := strings.Count(name, "/")
	switch {
	case name == "" || len(name) > maxName || !namePattern.MatchString(name):
		return wire.Invalid("Parameter name must be 1 to %d characters of a-z, A-Z, 0-9, '_', '.', '-' and '/', not %q", maxName, name)
	case levels > 0 && !strings.HasPrefix(name, "/"):
		return wire.Invalid("Parameter name must be a fully qualified name: %q has levels and must begin with '/'", name)
	case strings.Contains(name, "//") || strings.HasSuffix(name, "/"):
		return wire.Invalid("Parameter name %q has an empty level", name)
	case levels > maxLevels:
		return refuse("HierarchyLevelLimitExceededException", "A hierarchy can have a maximum of 15 levels: "+name)
	}
	first := strings.ToLower(strings.TrimPrefix(name, "/"))
	if strings.HasPrefix(first, "aws") || strings.HasPrefix(first, "ssm") {
		return wire.Invalid("Parameter name: can't be prefixed with \"aws\" or \"ssm\" (case-insensitive): %s", name)
	}
	return nil
}

// tierFor returns the tier that a value is stored in, or refuses it as too long.
func tierFor(wanted string, size int) (string, error) {
	switch wanted {
	case "", tierStandard:
		wanted = tierStandard
	case tierAdvanced:
	case tierIntelligent:
		if wanted = tierStandard; size > maxStandard {
			wanted = tierAdvanced
		}
	default:
		return "", wire.Invalid("Value '%s' at 'tier' failed to satisfy constraint: Member must satisfy enum value set: [Standard, Advanced, Intelligent-Tiering]", wanted)
	}
	if wanted == tierStandard && size > maxStandard {
		return "", wire.Invalid("Standard tier parameters support a maximum parameter value of 4096 characters. To create a larger parameter value, upgrade the parameter to use the advanced-parameter tier.")
	}
	if size > maxAdvanced {
		return "", wire.Invalid("Advanced tier parameters support a maximum parameter value of 8192 characters.")
	}
	return wanted, nil
}

func (s *Service) putParameter(body []byte) (any, error) {
	var in putInput
	if err := wire.Decode("PutParameter", body, &in); err != nil {
		return nil, err
	}
	if err := checkName(in.Name); err != nil {
		return nil, err
	}
	if in.Value == "" {
		return nil, wire.Invalid("1 validation error detected: Value '' at 'value' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	if in.DataType != "" && in.DataType != "text" {
		return nil, wire.Invalid("the local stand-in does not implement DataType %q of PutParameter", in.DataType)
	}
	switch in.Type {
	case "", typeString, typeStringList, typeSecureString:
	default:
		return nil, refuse("UnsupportedParameterType", "The parameter type "+in.Type+" is not supported.")
	}
	tier, err := tierFor(in.Tier, len(in.Value))
	if err != nil {
		return nil, err
	}
	next := version{Name: in.Name, Type: in.Type, Value: in.Value, Version: 1, Tier: tier,
		Description: in.Description, KeyID: in.KeyId, ModifiedAt: s.config.Now().UTC()}

	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.parameters[in.Name]; p != nil {
		last := p.latest()
		switch {
		case !in.Overwrite:
			return nil, refuse("ParameterAlreadyExists", "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
		case in.Type != "" && in.Type != last.Type:
			return nil, refuse("HierarchyTypeMismatchException", "Parameter Store doesn't support changing a parameter type: "+in.Name+" is a "+last.Type)
		}
		next.Type, next.Version = last.Type, last.Version+1
	} else if in.Type == "" {
		return nil, wire.Invalid("A parameter type is required when you create a parameter.")
	}
	if next.KeyID != "" && next.Type != typeSecureString {
		return nil, wire.Invalid("KeyId is required for SecureString type parameter only.")
	}
	if err := s.commit(record{Put: &next}); err != nil {
		return nil, err
	}
	return putOutput{next.Version, next.Tier}, nil
}

type deleteInput struct{ Name string }

func (s *Service) deleteParameter(body []byte) (any, error) {
	var in deleteInput
	if err := wire.Decode("DeleteParameter", body, &in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parameters[in.Name] == nil {
		return nil, notFound(in.Name)
	}
	if err := s.commit(record{Delete: in.Name}); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

func notFound(name string) error {
	return refuse("ParameterNotFound", "Parameter "+name+" not found.")
}
