package agents

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hank/internal/sandbox"
	"hank/recovery/layout"
)

func TestTheAllowListHoldsWorkspaceHomeAndTemp(t *testing.T) {
	t.Parallel()
	root, home := sandbox.Real(t.TempDir()), sandbox.Real(t.TempDir())
	l := layout.Layout{Root: root, Workspace: filepath.Join(root, "agentRoot")}
	if err := errors.Join(os.Mkdir(filepath.Join(home, ".claude"), 0o755),
		os.WriteFile(filepath.Join(home, ".claude.json"), []byte(`{"oauthAccount": {}}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names, environ []string
		want           []string
	}{
		{[]string{"shell"}, nil, []string{l.Workspace, l.Homes() + "/shell", l.Temps() + "/*"}},
		{[]string{"claude", "shell"}, []string{"HOME=" + home, "ANTHROPIC_API_KEY=k"}, []string{l.Workspace, l.Homes() + "/claude", l.Homes() + "/shell", l.Temps() + "/*"}},
		{[]string{"claude"}, []string{"HOME=" + home}, []string{l.Workspace, l.Homes() + "/claude", l.Temps() + "/*", home + "/.claude", home + "/.claude.json"}},
	} {
		if got := allowList(l, c.names, c.environ); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.names, got, c.want)
		}
	}
}
