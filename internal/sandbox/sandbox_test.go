package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

func TestContains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir, path string
		want      bool
	}{
		{"/a", "/a", true}, {"/a", "/a/b", true}, {"/a", "/a/..b", true}, {"/", "/a", true},
		{"/a", "/ab", false}, {"/a/b", "/a", false}, {"/a", "/a/../b", false}, {"/a", "a", false},
	} {
		if got := Contains(c.dir, c.path); got != c.want {
			t.Errorf("Contains(%s, %s) = %v", c.dir, c.path, got)
		}
	}
}

// What is not there yet is judged by where it will be, links followed.
func TestRealFollowsLinksAsFarAsTheyAreThere(t *testing.T) {
	t.Parallel()
	dir := Real(t.TempDir())
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if got, want := Real(filepath.Join(dir, "link", "link", "not", "there")), filepath.Join(dir, "not", "there"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A link in the place of a directory that is to be writable would open what it
// leads to.
func TestAFolderThatIsALinkIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "home")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if err := Directory(link); err == nil {
		t.Error("a link was taken for a folder")
	}
	if err := Directory(filepath.Join(dir, "a", "b")); err != nil {
		t.Error(err)
	}
}

func TestKernelSaysWhyNot(t *testing.T) {
	t.Parallel()
	s := Kernel()
	if s.InForce() != (s.Why == "") || s.InForce() && s.ABI < MinABI {
		t.Errorf("%+v", s)
	}
	t.Logf("Landlock %d here; %q", s.ABI, s.Why)
	if !s.InForce() {
		if err := Confine([]string{t.TempDir()}); err == nil {
			t.Error("nothing can be confined here, and Confine said it had")
		}
	}
}
