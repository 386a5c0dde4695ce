// Command screenshots takes the pictures of the documents: of the pages of hank web, about a
// real run of a hank with a loop, a retry and a gate, in Chromium.
//
//	go run ./scripts/screenshots --hank bin/hank --out docs/pictures
//	go run ./scripts/screenshots --hank bin/hank --out DIR --all
//
// --all takes every page, in dark and light, wide and on a phone, for who looks at them.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"hank/internal/browser"
)

var (
	//go:embed demo/hank.json
	demo string
	//go:embed demo/agent.sh
	agent string
)

func main() {
	program := flag.String("hank", "bin/hank", "the program")
	out := flag.String("out", "docs/pictures", "the directory of the pictures")
	all := flag.Bool("all", false, "every page, in every form")
	pace := flag.String("pace", "1", "how many seconds the agent takes for a step")
	flag.Parse()
	log.SetFlags(0)
	if err := take(*program, *out, *pace, *all); err != nil {
		log.Fatal(err)
	}
}

func take(program, out, pace string, all bool) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hank-pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	r := rig{program: program, dir: filepath.Join(dir, "weather"), env: append(os.Environ(), "HANK_STATE_DIR="+filepath.Join(dir, "state"), "PACE="+pace, "SEEN="+filepath.Join(dir, "seen"))}
	if err := r.prepare(); err != nil {
		return err
	}
	// It ends at the gate, with exit code 7.
	if err := r.hank("run", "-e", "run", "--allow-bypass"); exitCode(err) != 7 {
		return fmt.Errorf("the run did not come to its gate: %w", err)
	}
	address, end, err := r.web()
	if err != nil {
		return err
	}
	defer end()
	return pictures(address, out, all)
}

// rig is a directory with the hank of the pictures.
type rig struct {
	program, dir string
	env          []string
}

func (r rig) prepare() error {
	if err := os.MkdirAll(r.dir, 0o777); err != nil {
		return err
	}
	script := filepath.Join(r.dir, "agent.sh")
	return errors.Join(os.WriteFile(script, []byte(agent), 0o777), os.WriteFile(filepath.Join(r.dir, "hank.json"), []byte(strings.ReplaceAll(demo, "AGENT", script)), 0o666))
}

func (r rig) hank(args ...string) error {
	c := exec.Command(r.program, args...)
	c.Dir, c.Env = r.dir, r.env
	text, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("hank %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return nil
}

func exitCode(err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	return -1
}

// web starts hank web, and returns its address.
func (r rig) web() (address string, end func(), err error) {
	c := exec.Command(r.program, "web", "--act")
	c.Dir, c.Env, c.Stderr = r.dir, r.env, os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	end = func() { _ = c.Process.Signal(os.Interrupt); _ = c.Wait() }
	if _, err := fmt.Fscan(out, &address); err != nil {
		end()
		return "", nil, err
	}
	return address, end, nil
}

// picture is a page, and how it is looked at.
type picture struct {
	name, path    string
	width, height int64
	dark          bool
}

func pictures(address, out string, all bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	tab, end, err := browser.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer end()
	if err := chromedp.Do(tab, chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS(".card"))); err != nil {
		return err
	}
	list, err := chromedp.Run(tab, chromedp.OuterHTML(chromedp.CSS("#page")))
	if err != nil {
		return err
	}
	at := regexp.MustCompile(`/x/[0-9a-f]+`).FindString(list)
	if at == "" {
		return errors.New("the list has no execution")
	}
	wanted := []picture{{"web-run", at, 1200, 900, false}, {"web-phone", at + "/gate", 390, 844, true}}
	if all {
		wanted = nil
		pages := []struct{ name, path string }{{"executions", "/"}, {"needs", "/needs"}, {"run", at}, {"gate", at + "/gate"}, {"codon", at + "/codon?id=feed"}, {"loop", at + "/codon?id=review"}, {"checkpoints", at + "/checkpoints"}, {"diff", at + "/diff?from=initial&to=feed"}, {"rollback", at + "/rollback?to=feed"}, {"money", at + "/money"}, {"events", at + "/events"}}
		for _, p := range pages {
			for _, form := range []picture{{"light", "", 1200, 900, false}, {"dark", "", 1200, 900, true}, {"phone-light", "", 390, 844, false}, {"phone-dark", "", 390, 844, true}} {
				wanted = append(wanted, picture{p.name + "-" + form.name, p.path, form.width, form.height, form.dark})
			}
		}
	}
	origin := address[:strings.Index(address, "/#")]
	for _, p := range wanted {
		if err := browser.Look(tab, p.width, p.height, p.dark); err != nil {
			return err
		}
		if err := chromedp.Do(tab, chromedp.Navigate(origin+p.path), chromedp.WaitVisible(chromedp.CSS(".head"))); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		shoot := chromedp.CaptureScreenshot()
		if all {
			shoot = chromedp.FullScreenshot(100)
		}
		png, err := chromedp.Run(tab, shoot)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, p.name+".png"), png, 0o666); err != nil {
			return err
		}
		fmt.Println(filepath.Join(out, p.name+".png"))
	}
	return nil
}
