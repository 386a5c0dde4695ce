package page

import (
	"path/filepath"
	"testing"
	"time"

	"hank/recovery"
	"hank/runtime/report"
)

// TestALookThatReadsNothingIsNone: who reads a page again at once gets what another viewer has read,
// and the files are looked at again in time, however often that happens.
func TestALookThatReadsNothingIsNone(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "x")
	x, err := recovery.Create(t.Context(), root, recovery.CreateOptions{})
	if err == nil {
		err = x.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	o := &New(report.Settings{}, func(text string) string { return text }).open
	look := func() time.Time {
		if _, err := o.look(t.Context(), root, report.Settings{}); err != nil {
			t.Fatal(err)
		}
		return o.followed(root).at
	}
	look()
	read := time.Now().Add(time.Hour) // the next look comes before it is time
	o.followed(root).at = read
	if at := look(); !at.Equal(read) {
		t.Errorf("the files were looked at at %s, and the look counts as of %s", read, at)
	}
	o.followed(root).at = time.Now().Add(-time.Hour)
	if at := look(); time.Since(at) > time.Minute {
		t.Errorf("the files were not looked at again: %s", at)
	}
}
