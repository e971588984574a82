package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// functionNames are the functions that are run.
func functionNames() []string { return []string{"mcp", "approve", "notify", "expire"} }

// moduleRoot returns the folder of go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the working directory: run this inside the checkout")
		}
		dir = up
	}
}

// goBuild builds a package of the module to a file, with an overlay where one is given.
func goBuild(root, to, pkg, overlay string, flags ...string) error {
	args := append([]string{"build", "-buildvcs=false", "-o", to}, flags...)
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// buildFunctions builds each function as it is deployed to dir/<function>/bootstrap.
func buildFunctions(root, dir, overlay string) error {
	for _, fn := range functionNames() {
		if err := goBuild(root, filepath.Join(dir, fn, "bootstrap"), "./functions/"+fn, overlay, "-trimpath", "-tags", "lambda.norpc"); err != nil {
			return err
		}
	}
	return nil
}
