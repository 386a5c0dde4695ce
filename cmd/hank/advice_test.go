//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/lazyregexp"
	"hank/internal/short"
)

// advised is how often in a row what hank doctor says may be needed.
const advised = 3

// lives are ways in which an execution comes to stand somewhere: shell lines.
// Those that are killed say nothing of their end.
var lives = map[string]string{
	"done":            `hank run`,
	"stopped":         `hank run --stop-after 2`,
	"failed":          `touch fail; hank run; rm fail`,
	"rolled back":     `hank run && hank rollback --to one --yes`,
	"killed at first": `HANK_FAILPOINT=transition.acknowledged:4 hank run`,
	"killed halfway":  `HANK_FAILPOINT=checkpoint.referenced:3 hank run`,
	"killed late":     `HANK_FAILPOINT=transition.acknowledged:14 hank run`,
	"unfinished move": `hank run && HANK_FAILPOINT=restore.renamed:1 hank rollback --to one --yes`,
	"announced move":  `hank run && HANK_FAILPOINT=move.intended:1 hank rollback --to one --yes`,
	"applied move":    `hank run && HANK_FAILPOINT=move.applied:1 hank rollback --to one --yes`,
	"killed restore":  `hank run && HANK_FAILPOINT=restore.deleted:1 hank restore b d --from one --delete --yes`,
	"unfinished undo": `hank run && hank rollback --to one --yes && HANK_FAILPOINT=restore.renamed:1 hank rollback --undo --yes`,
	"killed redo":     `HANK_FAILPOINT=checkpoint.packed:4 hank run; HANK_FAILPOINT=restore.staged:1 hank run`,
}

// damages are done to an execution that nobody holds.
var damages = map[string]func(r *rand.Rand, root string) error{
	"nothing":              func(*rand.Rand, string) error { return nil },
	"state gone":           gone("state.json"),
	"state flipped":        flipped("state.json"),
	"state cut":            shortened("state.json"),
	"both states gone":     gone("state.json", "state.json.bak"),
	"journal gone":         gone("events"),
	"journal flipped":      flipped("events/events.jsonl"),
	"journal cut":          shortened("events/events.jsonl"),
	"journal, states gone": gone("events", "state.json", "state.json.bak"),
	"meta gone":            gone("execution-meta.json"),
	"meta flipped":         flipped("execution-meta.json"),
	"store gone":           gone("checkpoints"),
	"pack gone":            gone("checkpoints/.hankweavecheckpoints/objects/pack/*.pack"),
	"pack flipped":         flipped("checkpoints/.hankweavecheckpoints/objects/pack/*.pack"),
	"pack cut":             shortened("checkpoints/.hankweavecheckpoints/objects/pack/*.pack"),
	"pack index gone":      gone("checkpoints/.hankweavecheckpoints/objects/pack/*.idx"),
	"branches gone":        gone("checkpoints/.hankweavecheckpoints/refs/heads"),
	"HEAD gone":            gone("checkpoints/.hankweavecheckpoints/HEAD"),
	"index gone":           gone("index"),
	"runs gone":            gone("runs"),
	"quarantine a file":    laid(".hankweave/quarantine", "x"),
	"lock rubbish":         laid(".hankweave/runtime.lock", "{"),
	"lock of git":          laid(".hankweave/checkpoints/.hankweavecheckpoints/refs/heads/main.lock", ""),
	"half a save":          laid(".hankweave/state.json.tmp", "{"),
	"workspace gone":       func(_ *rand.Rand, root string) error { return os.RemoveAll(root + "/agentRoot") },
	"workspace a file":     laid("agentRoot", "x"),
	"workspace emptied": func(_ *rand.Rand, root string) error {
		return errors.Join(os.RemoveAll(root+"/agentRoot"), os.Mkdir(root+"/agentRoot", 0o755))
	},
	"workspace changed": laid("agentRoot/a", "a person's"),
	"pipe in the way": func(_ *rand.Rand, root string) error {
		if fi, err := os.Stat(root + "/agentRoot"); err != nil || !fi.IsDir() {
			return nil
		}
		_ = os.RemoveAll(root + "/agentRoot/a")
		return syscall.Mkfifo(root+"/agentRoot/a", 0o600)
	},
	"rubbish of a restore": laid("agentRoot/.hankweave-restore-journal", "755 \x00755 d\x00"),
	"closed workspace":     func(_ *rand.Rand, root string) error { return os.WriteFile(root+"/refuse", []byte("=EROFS"), 0o600) },
	"an immutable file": func(_ *rand.Rand, root string) error {
		return os.WriteFile(root+"/refuse", []byte("a=EPERM,d=EBUSY"), 0o600)
	},
	"another user's": func(_ *rand.Rand, root string) error { return os.WriteFile(root+"/refuse", []byte("d/=EACCES"), 0o600) },
}

// any of the files that fit a pattern in hank's directory, drawn.
func drawn(r *rand.Rand, root, pattern string) string {
	found, _ := filepath.Glob(root + "/.hankweave/" + pattern)
	if len(found) == 0 {
		return ""
	}
	return found[r.IntN(len(found))]
}

func gone(patterns ...string) func(*rand.Rand, string) error {
	return func(r *rand.Rand, root string) error {
		for _, p := range patterns {
			if path := drawn(r, root, p); path != "" {
				if err := os.RemoveAll(path); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func flipped(pattern string) func(*rand.Rand, string) error {
	return altered(pattern, func(r *rand.Rand, text []byte) []byte {
		text[r.IntN(len(text))] ^= 1 << r.IntN(8)
		return text
	})
}

func shortened(pattern string) func(*rand.Rand, string) error {
	return altered(pattern, func(r *rand.Rand, text []byte) []byte { return text[:r.IntN(len(text))] })
}

func altered(pattern string, how func(*rand.Rand, []byte) []byte) func(*rand.Rand, string) error {
	return func(r *rand.Rand, root string) error {
		path := drawn(r, root, pattern)
		text, err := os.ReadFile(path)
		if path == "" || err != nil || len(text) == 0 {
			return nil
		}
		return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, how(r, text), 0o600))
	}
}

func laid(name, text string) func(*rand.Rand, string) error {
	return func(_ *rand.Rand, root string) error {
		path := filepath.Join(root, name)
		if fi, err := os.Lstat(filepath.Dir(path)); err == nil && !fi.IsDir() {
			return nil // another damage has come first
		}
		if fi, err := os.Lstat(path); err == nil && (fi.IsDir() || !fi.Mode().IsRegular()) {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
	}
}

const adviceHank = `{"meta": {"name": "advice", "version": "1"}, "hank": [
 {"id": "one", "name": "One", "model": "shell", "continuationMode": "fresh", "promptText": "rm -f a; echo 1 > a; mkdir -p d; echo 1 > d/x"},
 {"id": "two", "name": "Two", "model": "shell", "continuationMode": "fresh", "promptText": "if [ -e ../fail ]; then exit 1; fi; rm -f a b; echo 2 > a; echo 2 > b; mkdir -p d; rm -f d/x; echo 2 > d/y"},
 {"id": "three", "name": "Three", "model": "shell", "continuationMode": "fresh", "promptText": "echo 3 > c; mkdir -p d; echo 3 > d/z"}]}`

// patient is an execution that something has happened to.
type patient struct {
	t    *testing.T
	root string
	said []string // every command with its exit code
}

// run runs a shell line in the execution's directory.
func (p *patient) run(line string) (code int, out, errs string) {
	p.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = p.root
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+p.root+".state", "HOME="+p.root+".home", "NO_COLOR=1")
	if refuse, err := os.ReadFile(p.root + "/refuse"); err == nil {
		cmd.Env = append(cmd.Env, "HANK_REFUSE="+string(refuse))
	}
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	cmd.WaitDelay = 10 * time.Second
	stop := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	code = cmd.ProcessState.ExitCode()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	p.said = append(p.said, fmt.Sprintf("%s: %d\n%s%s", line, code, o.String(), e.String()))
	return code, o.String(), e.String()
}

// advice is the command that hank doctor names, and what it asks.
// over: doctor asks for nothing, though what was lost stays lost.
func (p *patient) advice() (command, question string, over bool) {
	p.t.Helper()
	_, out, _ := p.run("hank doctor --json")
	var d struct {
		Command   string
		Condition string
		Healthy   bool
		Findings  []struct{ Severity, What string }
	}
	if err := json.Unmarshal([]byte(out), &d, json.MatchCaseInsensitiveNames(true)); err != nil {
		p.t.Fatalf("hank doctor: %v\n%s", err, strings.Join(p.said, "\n"))
	}
	for _, f := range d.Findings {
		if f.Severity == "blocked" {
			question += f.What + "\n"
		}
	}
	return d.Command, question, d.Healthy || d.Condition == "lost" && question == ""
}

// heal follows the advice until the execution has come to its end. It returns
// why it did not, or the question that remains: what was asked, and by which
// command.
func (p *patient) heal(most int) (question, asked string, err error) {
	for range most {
		command, blocked, over := p.advice()
		if command == "" && !over {
			if len(p.answers(blocked, "hank run")) == 0 {
				return "", "", errors.New("doctor names neither a command nor an answer")
			}
			return blocked, "hank run", nil
		}
		if command == "" {
			command = "hank run"
		}
		switch code, _, errs := p.run(command); code {
		case 0:
			if over, _, _ := p.run("hank run"); over == 0 {
				return "", "", nil
			}
		case 4, 5:
			if len(p.answers(errs, command)) > 0 {
				return errs, command, nil
			}
		case 70, 2, 3:
			return "", "", fmt.Errorf("%s: exit code %d", command, code)
		}
	}
	if code, _, errs := p.run("hank run"); code == 0 {
		return "", "", nil
	} else if (code == 4 || code == 5) && len(p.answers(errs, "hank run")) > 0 {
		return errs, "hank run", nil
	}
	return "", "", fmt.Errorf("the advice was followed %d times", most)
}

var (
	namedFlag    = lazyregexp.New(`^(--[a-z-]+)( |$)`)
	namedCommand = lazyregexp.New(`^hank (run|resume|retry|rollback|doctor)( (--[a-z-]+|last-success|TARGET|DIR|0s)\b)*`)
	inTheWay     = lazyregexp.New(`"([^"]+)" (is in the way|was changed after|cannot be read|is where the target)`)
	noFolder     = lazyregexp.New(`make an empty directory (\S+) if`)
	leftLock     = lazyregexp.New(`(/\S+\.lock) exists: `)
	standsThere  = lazyregexp.New(`is where the workspace (\S+) must be`)
)

// answers are the commands that a question names, in order, and what it asks a
// person to do by hand. To put something back from a copy is none: there is none.
func (p *patient) answers(question, asked string) (commands []string) {
	add := func(command string) {
		if command != "" && !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	if m := standsThere.FindStringSubmatch(question); m != nil {
		add("mv agentRoot agentRoot.aside")
	}
	if m := inTheWay.FindStringSubmatch(question); m != nil {
		add("mv 'agentRoot/" + m[1] + "' aside")
	}
	if m := noFolder.FindStringSubmatch(question); m != nil {
		add("mkdir -p '" + m[1] + "'")
	}
	if m := leftLock.FindStringSubmatch(question); m != nil {
		add("rm '" + m[1] + "'")
	}
	_, list, _ := strings.Cut(question, "; choose: ")
	for option := range strings.SplitSeq(strings.TrimSpace(list), ", or ") {
		command := namedCommand.FindString(option)
		if m := namedFlag.FindStringSubmatch(option); m != nil {
			command = asked + " " + m[1]
		}
		if strings.Contains(command, "TARGET") {
			sha := p.newest()
			if sha == "" {
				continue // there is none to go to
			}
			command = strings.Replace(command, "TARGET", sha, 1)
		}
		command = strings.Replace(command, "DIR", "agentRoot", 1)
		if strings.Contains(command, "--workspace") {
			command = "mkdir -p agentRoot && " + command
		}
		if strings.HasPrefix(command, "hank rollback") && !strings.Contains(command, "--yes") {
			command += " --yes"
		}
		add(command)
	}
	return commands
}

// newest is the newest checkpoint of a codon that is left.
func (p *patient) newest() string {
	_, out, _ := p.run("hank checkpoints --json")
	var list struct {
		Checkpoints []struct{ SHA, Lost string }
	}
	_ = json.Unmarshal([]byte(out), &list, json.MatchCaseInsensitiveNames(true))
	for _, c := range slices.Backward(list.Checkpoints) {
		if code, _, _ := p.run("hank rollback --plan --to " + c.SHA); code == 0 {
			return c.SHA
		}
	}
	return ""
}

// leadsOn tries every answer to a question, each on a copy of its own. Behind an
// answer other questions may come, of which the first answer is taken.
func (p *patient) leadsOn(question, asked string) error {
	named := p.answers(question, asked)
	if len(named) == 0 {
		return fmt.Errorf("no answer can be read from %q", question)
	}
	copied := p.root + ".copy"
	if out, err := exec.Command("cp", "-a", p.root, copied).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	defer os.RemoveAll(copied)
	for _, answer := range named {
		if err := os.RemoveAll(p.root); err != nil {
			return err
		}
		if out, err := exec.Command("cp", "-a", copied, p.root).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		if err := p.follow(answer); err != nil {
			return fmt.Errorf("to %q the answer %s: %w", question, answer, err)
		}
	}
	return nil
}

func (p *patient) follow(answer string) error {
	seen := map[string]bool{}
	for range advised {
		seen[answer] = true
		code, _, errs := p.run(answer)
		if code == 2 || code == 3 || code == 70 {
			return fmt.Errorf("exit code %d", code)
		}
		question, asked, err := errs, answer, error(nil)
		if code != 4 && code != 5 || len(p.answers(errs, answer)) == 0 {
			question, asked, err = p.heal(advised)
		}
		if err != nil || question == "" {
			return err
		}
		next := slices.DeleteFunc(p.answers(question, asked), func(a string) bool { return seen[a] })
		if len(next) == 0 {
			return fmt.Errorf("it comes back to %q", question)
		}
		answer = next[0]
	}
	return fmt.Errorf("one question follows another")
}

// From whatever has happened to an execution, what hank doctor says leads to its
// end, or to a question of which every answer leads on: after at most three
// times. HANK_LONG tries every life with every damage, and pairs of damages at
// random; HANK_SEED draws others.
func TestWhatDoctorSaysLeadsOn(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	long, seed := os.Getenv("HANK_LONG") != "", uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("HANK_SEED"), 10, 64); err == nil {
		seed = n
	}
	draw := rand.New(rand.NewPCG(seed, 12))
	type ill struct {
		life    string
		damages []string
	}
	var all []ill
	names := sortedKeys(damages)
	for _, life := range sortedKeys(lives) {
		for _, damage := range names {
			all = append(all, ill{life, []string{damage}})
		}
	}
	for range 400 {
		all = append(all, ill{sortedKeys(lives)[draw.IntN(len(lives))], []string{names[draw.IntN(len(names))], names[draw.IntN(len(names))]}})
	}
	if !long {
		all = all[:len(lives)*len(names)]
		draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:8]
	}
	if only := os.Getenv("HANK_ADVICE"); only != "" { // LIFE/DAMAGE+DAMAGE
		life, list, _ := strings.Cut(only, "/")
		all = []ill{{life, strings.Split(list, "+")}}
	}
	if long {
		t.Cleanup(func() { t.Logf("seed %d: %d executions damaged and brought on", seed, len(all)) })
	}
	for _, c := range all {
		r := rand.New(rand.NewPCG(seed, draw.Uint64()))
		t.Run(c.life+"/"+strings.Join(c.damages, "+"), func(t *testing.T) {
			t.Parallel()
			p := &patient{t: t, root: filepath.Join(t.TempDir(), "x")}
			if err := errors.Join(os.Mkdir(p.root, 0o755), os.Mkdir(p.root+".home", 0o755), os.WriteFile(p.root+"/hank.json", []byte(adviceHank), 0o600)); err != nil {
				t.Fatal(err)
			}
			p.run(lives[c.life])
			for _, damage := range c.damages {
				if err := damages[damage](r, p.root); err != nil {
					t.Fatal(err)
				}
			}
			question, asked, err := p.heal(advised)
			if err == nil && question != "" {
				err = p.leadsOn(question, asked)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, strings.Join(p.said, "\n"))
			}
		})
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
