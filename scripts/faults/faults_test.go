package main

import (
	"os"
	"testing"
)

// The lines that a fault takes out stand once in its file, wherever the code has gone.
func TestEveryFaultCanBePlanted(t *testing.T) {
	t.Chdir("../..")
	faults, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if _, err := f.planted(); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		if _, err := os.Stat(f.pkg); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}
