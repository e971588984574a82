package arch

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// notOurs names folders that are made by tools and never tracked.
var notOurs = map[string]bool{"node_modules": true, "vendor": true, "dist": true, "bin": true, "cdk.out": true}

// goFiles lists the Go files of the module at the top of the tree: not those of testdata, nor of a module inside it.
func goFiles(tree fs.FS) ([]string, error) {
	var files []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		base := d.Name()
		if d.IsDir() {
			if name == "." {
				return nil
			}
			if base == "testdata" || notOurs[base] || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
				return fs.SkipDir
			}
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) == ".go" && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_") {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// allFiles lists every regular file that could be tracked.
func allFiles(tree fs.FS) ([]string, error) {
	var files []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		if d.IsDir() && (notOurs[d.Name()] || d.Name() == ".git" || d.Name() == ".countersign") {
			return fs.SkipDir
		}
		// In a linked work tree .git is a file that holds the path of the repository.
		if d.Type().IsRegular() && d.Name() != ".git" {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// gone forgives a file that another process removed between the listing of its folder and the look at it.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
