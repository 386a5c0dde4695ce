package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestWritersNeverMeetAndRubbishIsLeftOut(t *testing.T) {
	t.Setenv("HANK_STATE_DIR", t.TempDir())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := Add(Entry{Root: fmt.Sprintf("/x/%d", i), Lineage: "l", Created: time.Unix(int64(i), 0)}); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	dir, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", `{"root":"relative"}`} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("bad%d.json", len(text))), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := List()
	if err != nil || len(got) != 20 {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	if err := Remove("/x/3"); err != nil {
		t.Fatal(err)
	}
	if err := Remove("/never/was"); err != nil {
		t.Fatal(err)
	}
	if got, _ := List(); len(got) != 19 {
		t.Fatalf("%d entries after one was removed", len(got))
	}
}

func TestWithoutAHomeThereIsAnErrorAndNoPanic(t *testing.T) {
	t.Setenv("HANK_STATE_DIR", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	if err := Add(Entry{Root: "/x"}); err == nil {
		t.Error("no home, and no error")
	}
	if _, err := List(); err == nil {
		t.Error("no home, and no error")
	}
}
