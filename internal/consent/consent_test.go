package consent

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestAConsentIsRememberedUntilItsFileIsDeleted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HANK_STATE_DIR", dir)
	if Given("claude") {
		t.Error("it was never given")
	}
	for range 2 {
		if err := Give("claude", time.Now()); err != nil || !Given("claude") || Given("codex") {
			t.Error(err)
		}
	}
	path := filepath.Join(dir, "consents", "claude.json")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if err := os.Remove(path); err != nil || Given("claude") {
		t.Error(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil || Given("claude") { // which is no file of hank
		t.Error(err)
	}
}

func TestWithoutAHomeNothingIsRemembered(t *testing.T) {
	for _, name := range []string{"HANK_STATE_DIR", "XDG_STATE_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	if Give("claude", time.Now()) == nil || Given("claude") {
		t.Error("where is it?")
	}
}

// Runs that begin at the same moment give the same consent.
func TestAConsentIsGivenByManyAtOnce(t *testing.T) {
	t.Setenv("HANK_STATE_DIR", t.TempDir())
	for round := range 20 {
		name := fmt.Sprintf("agent-%d", round)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := Give(name, time.Now()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if !Given(name) {
			t.Errorf("%s is not given", name)
		}
	}
}
