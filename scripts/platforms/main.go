// Command platforms type-checks hank and its tests for the systems that scripts/test does
// not run on, with all that they import, from the sources. Nothing is compiled: for one
// system that takes minutes where nothing is cached, and it finds one kind of mistake
// more, those of linking. scripts/prove platforms compiles.
//
//	go run ./scripts/platforms linux/arm64 darwin/arm64 windows/amd64
//
// It prints each mistake with its place, and ends with 1 if there is one.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := run(os.Args[1:], "./..."); err != nil {
		fmt.Fprintln(os.Stderr, "platforms:", err)
		os.Exit(1)
	}
}

func run(platforms []string, patterns ...string) error {
	if len(platforms) == 0 {
		return errors.New("name the systems, each as GOOS/GOARCH")
	}
	var all error
	for _, p := range platforms {
		count, err := check(p, patterns...)
		if err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", p, err))
			continue
		}
		fmt.Printf("%s: %d packages with their tests\n", p, count)
	}
	return all
}

// check type-checks packages and their tests for one system, with what they import. It
// returns the number of packages, those with tests counted once more.
func check(platform string, patterns ...string) (int, error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return 0, errors.New("not GOOS/GOARCH")
	}
	found, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		Tests: true,
	}, patterns...)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, errors.New("no packages")
	}
	var all error
	packages.Visit(found, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			all = errors.Join(all, e)
		}
	})
	return len(found), all
}
