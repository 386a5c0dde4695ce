package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hank/internal/short"
)

// TestSecretsAreShownToWhoAsksForThem: the pages of hank web, and an export, have a secret with
// --unmasked alone: one of a known shape, and the value of a variable of the command.
func TestSecretsAreShownToWhoAsksForThem(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	dir := t.TempDir()
	secrets := []string{"ghp_0123456789abcdefghijABCDEFGHIJ012345", "hidden-value-77"}
	hank := `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo 'said: ` + strings.Join(secrets, " ") + `'"}]}`
	if err := os.WriteFile(filepath.Join(dir, "hank.json"), []byte(hank), 0o600); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	called := func(args ...string) *exec.Cmd {
		cmd := exec.Command("hank", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HANK_STATE_DIR="+state, "MY_TOKEN="+secrets[1])
		return cmd
	}
	if out, err := called("run").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	has := func(what, text string, unmasked bool) {
		t.Helper()
		for _, secret := range secrets {
			if !strings.Contains(text, "said: ") || strings.Contains(text, secret) != unmasked {
				t.Errorf("%s, unmasked: %t: %s", what, unmasked, text)
			}
		}
	}
	for _, unmasked := range []bool{false, true} {
		var flag []string
		if unmasked {
			flag = []string{"--unmasked"}
		}
		file := filepath.Join(t.TempDir(), "run.html")
		if out, err := called(append([]string{"export", "html", file}, flag...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		has("the export", string(text), unmasked)

		web := called(append([]string{"web"}, flag...)...)
		out, err := web.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := web.Start(); err != nil {
			t.Fatal(err)
		}
		watchdog := time.AfterFunc(time.Minute, func() { _ = web.Process.Kill() })
		var address string
		if _, err := fmt.Fscan(out, &address); err != nil {
			t.Fatal(err)
		}
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		token, err := url.ParseQuery(at.Fragment)
		if err != nil {
			t.Fatal(err)
		}
		get := func(path string) string {
			t.Helper()
			r, err := http.NewRequest(http.MethodGet, "http://"+at.Host+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token.Get("k"))
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		place := regexp.MustCompile(`/x/[0-9a-f]+`).FindString(get("/f/"))
		has("the page", get("/f"+place+"/codon?id=a"), unmasked)
		_ = web.Process.Signal(os.Interrupt)
		if err := web.Wait(); err != nil {
			t.Error(err)
		}
		watchdog.Stop()
	}
}
