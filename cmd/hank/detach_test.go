package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDetachedRunsOfOneSecondHaveLogsOfTheirOwn(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	for _, want := range []string{"hank-20261123T060000Z.log", "hank-20261123T060000Z-2.log", "hank-20261123T060000Z-3.log"} {
		log, err := newLog(dir, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil || filepath.Base(log.Name()) != want {
			t.Errorf("%s, %v; want %s", log.Name(), err, want)
		}
	}
	if _, err := newLog(filepath.Join(dir, "not there"), now); !os.IsNotExist(err) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
