package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// State is what a running local gateway leaves in its folder, so that the operator's commands find it and a restart keeps its
// ports: a port is part of an address, and the address of a server is part of what an approval is for.
type State struct {
	AWSEndpoint string   `json:"aws_endpoint"`
	Endpoint    string   `json:"endpoint"`
	ApproveURL  string   `json:"approve_url"`
	Stage       string   `json:"stage"`
	Table       string   `json:"table"`
	Approvers   []string `json:"approvers"`
	DemoPort    int      `json:"demo_port,omitempty"`

	OnceTTL   time.Duration `json:"once_ttl,omitempty"`  // as countersign.yml says, in nanoseconds; 0: it says nothing
	Retention time.Duration `json:"retention,omitempty"` // likewise
	Clock     string        `json:"clock,omitempty"`     // Config.Clock
}

const stateFile = "local.json"

// ReadState reads the state that the last Start on dir left. It returns an error wrapping fs.ErrNotExist where there was none.
func ReadState(dir string) (State, error) {
	var s State
	raw, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("%s is not readable; delete the file and start again: %w", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

func (s State) write(dir string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, stateFile), append(raw, '\n'))
}

// writeFile replaces a file whole, so that a crash leaves the old one or the new one.
func writeFile(name string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(content); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

// readToken returns the client token that an earlier Start printed, or "".
func readToken(dir string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "token"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(raw)), err
}
