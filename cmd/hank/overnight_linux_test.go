package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/creack/pty"

	"hank/internal/browser"
	"hank/internal/short"
)

// night is somebody who does what docs/overnight.md says.
type night struct {
	t    *testing.T
	dir  string // the home on the machine with the run
	env  []string
	port string // of the phone
}

// TestANightIsAsThePageSays gives the commands of docs/overnight.md in their order: a detached
// run, a look at it, the page on a Unix socket, the tunnel by ssh, the answer in a browser as wide
// as a phone, and the morning.
func TestANightIsAsThePageSays(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/overnight.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := &night{t: t, dir: t.TempDir(), port: freePort(t)}
	n.env = append(os.Environ(), "HOME="+n.dir, "HANK_STATE_DIR="+filepath.Join(n.dir, "state"), "TERM=xterm-256color", "LANG=C.UTF-8")
	config := n.sshd()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tab, closes, err := browser.Open(ctx, nil)
	if errors.Is(err, browser.ErrMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer closes()
	if err := os.Symlink(filepath.Join(root, "fixtures"), filepath.Join(n.dir, "fixtures")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.command("hank stop -e night").Run() }) // where a command before has failed
	address, printed := "", map[string]string{}
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.NewReplacer("/home/me", n.dir, "8080", n.port).Replace(strings.TrimSpace(line))
			switch {
			case strings.HasPrefix(line, "hank watch "):
				n.waits("plan-ok") // so that it is drawn at once, and not over something else
				n.look(line)
			case strings.HasPrefix(line, "hank web --act "):
				address = n.serve(line)
			case strings.HasPrefix(line, "ssh "):
				n.start(strings.Replace(line, "ssh ", "exec ssh -F "+config+" ", 1))
				n.until("a tunnel", func() bool {
					c, err := net.Dial("tcp", "127.0.0.1:"+n.port)
					if err == nil {
						_ = c.Close()
					}
					return err == nil
				})
			case line == "hank web --url":
				if printed[line] = n.run(line); !strings.Contains(printed[line], strings.Replace(address, n.port, "8080", 1)) {
					t.Errorf("%s: %s; want %s", line, printed[line], address)
				}
				n.approve(tab, address)
			default:
				printed[line] = n.run(line)
			}
		}
	}
	for line, want := range map[string]string{"hank status -e night": "at gate rounds-ok", "hank diff initial -e night": "A plan.md", "hank stop -e night --wait": "the run has stopped"} {
		if !strings.Contains(printed[line], want) {
			t.Errorf("%s has printed\n%s\nwithout %q", line, printed[line], want)
		}
	}
}

func (n *night) command(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-ec", line)
	cmd.Dir, cmd.Env = n.dir, n.env
	return cmd
}

func (n *night) run(line string) string {
	n.t.Helper()
	out, err := n.command(line).CombinedOutput()
	if err != nil {
		n.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// start starts what runs until the end of the test.
func (n *night) start(line string) (out *bufio.Reader) {
	n.t.Helper()
	cmd := n.command(line)
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = os.Stderr
		err = cmd.Start()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return bufio.NewReader(pipe)
}

func (n *night) until(what string, is func() bool) {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			n.t.Fatalf("after a minute there is not %s", what)
		}
	}
}

// look watches on a terminal until the gate is shown, and leaves.
func (n *night) look(line string) {
	n.t.Helper()
	cmd := n.command(line)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 100, Rows: 30})
	if err != nil {
		n.t.Fatal(err)
	}
	defer tty.Close()
	watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	var all []byte
	for part, left := make([]byte, 4096), false; ; {
		read, err := tty.Read(part)
		if all = append(all, part[:read]...); !left && strings.Contains(string(all), "gate: waiting for approval at gate plan-ok") {
			left = true
			_, _ = tty.WriteString("q")
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(string(all), "the run continues") {
		n.t.Fatalf("%s: %v\n%q", line, err, all)
	}
}

// serve starts the page, and returns the address to look and act, as the phone has it.
func (n *night) serve(line string) string {
	n.t.Helper()
	out := n.start("exec " + line)
	for {
		text, err := out.ReadString('\n')
		if err != nil {
			n.t.Fatalf("%s has ended: %v", line, err)
		}
		if address, found := strings.CutSuffix(strings.TrimSpace(text), "  to look and act"); found {
			return strings.Replace(address, "8080", n.port, 1)
		}
	}
}

// approve does what the page says in the browser of the phone.
func (n *night) approve(tab context.Context, address string) {
	n.t.Helper()
	if err := browser.Look(tab, 390, 844, false); err != nil {
		n.t.Fatal(err)
	}
	if err := chromedp.Do(tab, chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS(".tabs a.calls")), chromedp.Click(chromedp.CSS(".tabs a.calls")),
		chromedp.WaitVisible(chromedp.CSS(".card a.button")), chromedp.Click(chromedp.CSS(".card a.button")), chromedp.WaitVisible(chromedp.CSS(`details.file`)), chromedp.Click(chromedp.CSS(`button[data-act="approve"]`)),
		chromedp.WaitVisible(chromedp.CSS("#ask-yes")), chromedp.Click(chromedp.CSS("#ask-yes"))); err != nil {
		n.t.Fatal(err)
	}
	n.waits("rounds-ok")
}

// waits waits until the run waits at a gate.
func (n *night) waits(gate string) {
	n.t.Helper()
	n.until("a gate "+gate, func() bool {
		out, _ := n.command("hank status -e night").CombinedOutput()
		return strings.Contains(string(out), "at gate "+gate)
	})
}

// sshd starts a server of the user on the loopback, with keys of its own, and returns the
// configuration of a client that knows it as HOST.
func (n *night) sshd() (config string) {
	n.t.Helper()
	const server = "/usr/sbin/sshd"
	if _, err := os.Stat(server); err != nil {
		if os.Getenv("CI") == "true" {
			n.t.Fatal("sshd is not here")
		}
		n.t.Skip("sshd is not here (Debian: openssh-server)")
	}
	if os.Getuid() == 0 { // as its service does
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			n.t.Fatal(err)
		}
	}
	who, err := user.Current()
	if err != nil {
		n.t.Fatal(err)
	}
	port, keys := freePort(n.t), filepath.Join(n.dir, "keys")
	files := map[string]string{
		"sshd_config": fmt.Sprintf("Port %[1]s\nListenAddress 127.0.0.1\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/me.pub\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n", port, keys),
		"ssh_config":  fmt.Sprintf("Host HOST\n HostName 127.0.0.1\n Port %[1]s\n User %[3]s\n IdentityFile %[2]s/me\n IdentitiesOnly yes\n StrictHostKeyChecking yes\n UserKnownHostsFile %[2]s/known\n ExitOnForwardFailure yes\n", port, keys, who.Username),
	}
	if err := os.Mkdir(keys, 0o700); err != nil {
		n.t.Fatal(err)
	}
	for _, name := range []string{"host", "me"} {
		n.run("ssh-keygen -q -t ed25519 -N '' -f " + filepath.Join(keys, name))
	}
	public, err := os.ReadFile(filepath.Join(keys, "host.pub"))
	if err != nil {
		n.t.Fatal(err)
	}
	files["known"] = fmt.Sprintf("[127.0.0.1]:%s %s", port, public)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(keys, name), []byte(text), 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
	n.start("exec " + server + " -D -E " + filepath.Join(keys, "log") + " -f " + filepath.Join(keys, "sshd_config"))
	n.until("a server", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return filepath.Join(keys, "ssh_config")
}

// freePort is a port of the loopback that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
