package conformance

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/runtime/harness"
)

// command is that of a request that must be accepted.
func (s Subject) command(t *testing.T, req harness.Request) (harness.Command, harness.Environ) {
	t.Helper()
	c, err := s.Harness.Command(req)
	if err != nil {
		t.Fatal(err)
	}
	return c, harness.NewEnviron(c.Env)
}

// commands are the promises of Command.
func (s Subject) commands(t *testing.T) {
	t.Run("it has one name of one word", func(t *testing.T) {
		if name := s.Harness.Name(); name == "" || name != s.Harness.Name() || strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' }) {
			t.Errorf("it is called %q", name)
		}
	})
	t.Run("the keeper can start and stop it", func(t *testing.T) {
		req := s.request(t, s.Environ)
		c, _ := s.command(t, req)
		if len(c.Args) == 0 || c.Args[0] == "" || c.Dir != req.Workspace || c.StopSignal == 0 || c.StopGrace <= 0 {
			t.Errorf("%+v", c)
		}
		names := map[string]bool{}
		for _, kv := range c.Env {
			name, _, ok := strings.Cut(kv, "=")
			if !ok || name == "" || names[name] || strings.ContainsRune(kv, 0) {
				t.Errorf("the environment has %q", kv)
			}
			names[name] = true
		}
	})
	t.Run("prompts are in no list of processes", func(t *testing.T) {
		c, _ := s.command(t, s.request(t, s.Environ))
		for _, kv := range append(slices.Clone(c.Args), c.Env...) {
			if strings.Contains(kv, "CONFORMANCE-PROMPT") {
				t.Errorf("the prompt is in %q", kv)
			}
		}
	})
	t.Run("it is told where it is, and the codon's variables win", func(t *testing.T) {
		req := s.request(t, append(slices.Clone(s.Environ), "HTTPS_PROXY=http://proxy", "NODE_EXTRA_CA_CERTS=/ca.pem", "MINE=caller", "HANK_ATTEMPT=outer", "HANK_SESSION=outer"))
		req.Env = map[string]string{"MINE": "codon", "HOME": "/codon"}
		_, env := s.command(t, req)
		for name, want := range map[string]string{"HANK_WORKSPACE": req.Workspace, "HANK_ATTEMPT": req.Attempt, "PWD": req.Workspace, "TMPDIR": req.Temp,
			"HTTPS_PROXY": "http://proxy", "NODE_EXTRA_CA_CERTS": "/ca.pem", "MINE": "codon", "HOME": "/codon"} {
			if env[name] != want {
				t.Errorf("%s=%s, want %s", name, env[name], want)
			}
		}
		if env["HANK_SESSION"] == "outer" {
			t.Error("it has the session of the hank that hank runs in")
		}
	})
	t.Run("it has no secrets that are not for it", func(t *testing.T) {
		req := s.request(t, append(slices.Clone(s.Environ), "HANKWEAVE_SENTINEL_KEY=CONFORMANCE-SECRET", "HANKWEAVE_RUNTIME_MODEL=CONFORMANCE-SECRET"))
		for _, name := range []string{".ssh/id_ed25519", ".netrc", ".git-credentials"} {
			write(t, filepath.Join(userHome(req), name), "CONFORMANCE-SECRET")
		}
		c, _ := s.command(t, req)
		s.hasNot(t, req, c, "CONFORMANCE-SECRET")
	})
	t.Run("it writes in its own directories alone", func(t *testing.T) {
		req := s.request(t, s.Environ)
		write(t, filepath.Join(req.Workspace, "file"), "x")
		before := []map[string]string{tree(t, req.Workspace), tree(t, userHome(req))}
		for range 2 {
			s.command(t, req)
		}
		if after := []map[string]string{tree(t, req.Workspace), tree(t, userHome(req))}; !maps.Equal(before[0], after[0]) || !maps.Equal(before[1], after[1]) {
			t.Errorf("it wrote: %v became %v", before, after)
		}
	})
	t.Run("a login is a link, and never a copy", func(t *testing.T) { s.linksLogin(t) })
	t.Run("a session that is asked for is asked for, or is an error", func(t *testing.T) {
		if s.Plays {
			t.Skip("the session is that of the recording")
		}
		req := s.request(t, s.Environ)
		req.Session = "conformance-session"
		c, err := s.Harness.Command(req)
		if err == nil && !strings.Contains(strings.Join(append(slices.Clone(c.Args), c.Env...), "\n")+string(c.Stdin)+c.Session, req.Session) {
			t.Errorf("the command has no session: %+v", c)
		}
	})
	t.Run("what it remembers is in its own directory", func(t *testing.T) {
		r, is := s.Harness.(harness.Remembering)
		if !is {
			t.Skip("it keeps no sessions in files")
		}
		req := s.request(t, s.Environ)
		s.command(t, req)
		for _, session := range []string{"conformance-session", "..", "../" + filepath.Base(userHome(req)), "*", "/"} {
			root, names, err := r.SessionFiles(req, session)
			if err != nil || len(names) > 0 {
				t.Errorf("session %q, of which nothing is there: %v, %v", session, names, err)
			}
			if root != "" && !strings.HasPrefix(root, req.Home) {
				t.Errorf("session %q is in %s", session, root)
			}
		}
	})
	t.Run("without a workspace there is no command", func(t *testing.T) {
		if s.Plays {
			t.Skip("it works nowhere")
		}
		req := s.request(t, s.Environ)
		if req.Workspace = ""; true {
			if c, err := s.Harness.Command(req); err == nil {
				t.Errorf("%+v", c)
			}
		}
	})
}

// linksLogin looks for a secret of the user's login where it must not be.
func (s Subject) linksLogin(t *testing.T) {
	if s.Login == nil {
		t.Skip("it has no logins")
	}
	req := s.request(t, s.LoginEnviron)
	s.Login(t, userHome(req), "CONFORMANCE-SECRET")
	before := tree(t, userHome(req))
	c, env := s.command(t, req)
	s.hasNot(t, req, c, "CONFORMANCE-SECRET")
	if !maps.Equal(before, tree(t, userHome(req))) {
		t.Error("the user's files have changed")
	}
	linked := env["HOME"] == userHome(req) // it works in the user's own home
	for _, root := range []string{req.Home, req.Temp} {
		err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.Type()&fs.ModeSymlink == 0 {
				return err
			}
			if to, err := filepath.EvalSymlinks(name); err == nil && strings.HasPrefix(to, userHome(req)+string(filepath.Separator)) {
				linked = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !linked {
		t.Error("the login of the user does not reach the agent")
	}
	if len(s.Harness.LoginFiles(req.Environ)) == 0 {
		t.Skip("it does not write to its login")
	}
	for _, file := range s.Harness.LoginFiles(req.Environ) {
		if !strings.HasPrefix(file, userHome(req)) {
			t.Errorf("a sandbox would let it write to %s", file)
		}
	}
}

// hasNot reports a secret in the command, or in a file of the agent's directories.
func (s Subject) hasNot(t *testing.T, req harness.Request, c harness.Command, secret string) {
	t.Helper()
	for _, kv := range append(slices.Clone(c.Args), c.Env...) {
		if strings.Contains(kv, secret) {
			t.Errorf("a secret is in %q", kv)
		}
	}
	for _, root := range []string{req.Home, req.Temp, req.Workspace} {
		for name, text := range tree(t, root) {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is in the file %s", filepath.Join(root, name))
			}
		}
	}
	if bytes.Contains(c.Stdin, []byte(secret)) {
		t.Error("a secret is on the standard input")
	}
}

// checks are the promises of Check and of what the user is told.
func (s Subject) checks(t *testing.T) {
	t.Run("it writes nothing, and says what is missing", func(t *testing.T) {
		req := s.request(t, s.Environ)
		bin := t.TempDir()
		env := append(slices.Clone(req.Environ), "PATH="+bin)
		before := tree(t, userHome(req))
		c := s.Harness.Check(t.Context(), env)
		if !c.Found && c.Problem == "" {
			t.Errorf("it is not there, and there is no problem: %+v", c)
		}
		if c.Found && c.Path == "" {
			t.Errorf("it was found nowhere: %+v", c)
		}
		if !maps.Equal(before, tree(t, userHome(req))) || len(tree(t, bin)) > 0 {
			t.Error("it wrote into the user's home, or beside the program")
		}
	})
	t.Run("it ends when it is told to", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.Harness.Check(ctx, s.request(t, s.Environ).Environ)
	})
	t.Run("its mode is one", func(t *testing.T) {
		if mode := s.Harness.Permission(); strings.Contains(mode, "\n") || mode != strings.TrimSpace(mode) {
			t.Errorf("%q", mode)
		}
	})
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tree are the files below a directory with their content. Links are not followed: of one it
// is where it leads.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if e.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(name)
			all[rel] = "link " + to
			return err
		}
		text, err := os.ReadFile(name)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
