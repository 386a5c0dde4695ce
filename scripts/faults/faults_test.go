package main

import (
	"os"
	"strings"
	"testing"
)

// The lines that a fault takes out stand once in its file, wherever the code has gone,
// and no fault is in the list twice.
func TestEveryFaultCanBePlanted(t *testing.T) {
	t.Chdir("../..")
	faults, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	known := map[[3]string]string{}
	for _, f := range faults {
		change := [3]string{f.file, f.old, f.new}
		if known[change] != "" {
			t.Errorf("%s is %s again", f.name, known[change])
		}
		known[change] = f.name
		if _, err := f.planted(); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		for pkg := range strings.SplitSeq(f.pkg, ",") {
			if _, err := os.Stat(pkg); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
		}
	}
}
