// Command powercut cuts the power of a machine that runs hank, many times, and
// looks each time whether what hank had acknowledged is there.
// scripts/powerfail starts it; docs/durability.md says what it shows.
//
// The machine is qemu's. Its disk has a cache that loses what was not flushed:
// qemu logs every write and flush, and at a cut only what the last completed
// flush covers is certain to be on the disk of the next start; of later writes a
// seeded share is, page by page. The kernel's own cache goes with the machine.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type options struct {
	cuts          int
	seed          uint64
	share         float64
	longest       time.Duration
	dir, ledger   string
	hank, busybox string
	qemu          string
	accelerator   string
	kernel        string
	modules       string
	commit        string
	codons, disk  int
}

func main() {
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "powercut: %v\n", err)
		os.Exit(2)
	}
	began := time.Now()
	t, err := attack(o)
	found := "nothing"
	if err != nil {
		found = "failed: " + strings.Join(strings.Fields(err.Error()), " ")
	}
	fmt.Printf("%s; found: %s\n", t, found)
	if o.ledger != "" && t.cuts > 0 {
		if err := enter(o, t, found, time.Since(began)); err != nil {
			fmt.Fprintf(os.Stderr, "powercut: %v\n", err)
			os.Exit(1)
		}
	}
	if err != nil {
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("scripts/powerfail", flag.ContinueOnError)
	f.SetOutput(os.Stdout)
	f.IntVar(&o.cuts, "cuts", 100, "cut the power `N` times")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().Unix()), "`SEED` of the moments and of what the disk's cache loses; how far the machine got by then is not in its hands")
	f.Float64Var(&o.share, "share", -1, "of what was not flushed the disk keeps this `SHARE`, from 0 to 1 (default: each of 0, 0.1, 0.5, 0.9 and 1 in turn)")
	f.DurationVar(&o.longest, "longest", 2500*time.Millisecond, "cut at a moment up to this `TIME` after the machine has mounted its disk")
	f.IntVar(&o.codons, "codons", 60, "the hank has `N` codons; once it is done, the next execution begins")
	f.IntVar(&o.disk, "disk", 1024, "size of the disk in `MIB`")
	f.StringVar(&o.dir, "dir", "", "work in `DIR`, which must be on a file system for O_DIRECT (default: a folder for temporary files, removed if nothing is found)")
	f.StringVar(&o.hank, "hank", "", "the static `BINARY` of hank; scripts/powerfail builds it")
	f.StringVar(&o.busybox, "busybox", "/bin/busybox", "a static `BUSYBOX`")
	f.StringVar(&o.qemu, "qemu", "qemu-system-x86_64", "the `BINARY` of qemu")
	f.StringVar(&o.accelerator, "accel", "", "kvm, or tcg, which emulates everything and is ten times slower (default: kvm if a machine starts with it)")
	f.StringVar(&o.kernel, "kernel", "", "the `FILE` of a Linux kernel for this architecture")
	f.StringVar(&o.modules, "modules", "", "the `DIR` of its modules")
	f.StringVar(&o.ledger, "ledger", "", "add a line to the table in `FILE`")
	f.StringVar(&o.commit, "commit", "", "the `COMMIT` for that line")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag; see --help", f.Arg(0))
	}
	if o.cuts < 1 || o.codons < 1 || o.disk < 128 || o.longest <= 0 || o.share > 1 {
		return o, errors.New("--cuts, --codons and --longest are above 0, --disk at least 128, --share at most 1")
	}
	return o, nil
}

// tally is what was done.
type tally struct {
	cuts, executions, looked, acknowledged int
	kept, lost                             int
}

func (t tally) String() string {
	return fmt.Sprintf("%d power cuts of a virtual machine, %d looked at by the next start before another; %d checkpoints acknowledged, %d executions done; of the writes after the last flush %d kept, %d lost",
		t.cuts, t.looked, t.acknowledged, t.executions, t.kept, t.lost)
}

func enter(o options, t tally, found string, took time.Duration) error {
	f, err := os.OpenFile(o.ledger, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "| %s | %s | powerfail | %d | %s | %s | %d |\n", time.Now().UTC().Format(time.DateOnly), o.commit, o.seed, t, strings.ReplaceAll(found, "|", "/"), int(took.Seconds()))
	return errors.Join(err, f.Close())
}

// program is a hank of shell codons that write new files, write to old ones and
// delete some.
func program(codons int) string {
	const work = `set -eu; echo \"$0 step\" >>log.txt; i=$(wc -l <log.txt); mkdir -p few many/$((i % 9)); echo $i >few/$((i % 5)); ` +
		`head -c $((i * 997)) /dev/zero | tr '\\0' $((i % 10)) >many/$((i % 9))/$i; rm -f many/*/$((i - 20)); ln -sf $i few/link`
	return fmt.Sprintf(`{"hank": [{"type": "loop", "id": "work", "name": "Work", "terminateOn": {"type": "iterationLimit", "limit": %d},
  "codons": [{"id": "step", "name": "Step", "model": "shell", "continuationMode": "fresh", "promptText": "%s"}]}]}`, codons, work)
}

// world is the machine's disk and what hank has acknowledged on it.
type world struct {
	o         options
	initrd    string
	disk, log string // and work, which qemu writes to
	work      string
	execution int
	acked     []string // checkpoints of the execution
	want      string   // digest of the tree in the end
	tally     tally
}

func attack(o options) (t tally, err error) {
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "powerfail-"); err != nil {
			return t, err
		}
		defer func() {
			if err == nil {
				err = os.RemoveAll(dir)
			} else {
				fmt.Printf("disk, log and what the machine said are in %s\n", dir)
			}
		}()
	}
	w := &world{o: o, initrd: filepath.Join(dir, "initrd"), disk: filepath.Join(dir, "disk"), log: filepath.Join(dir, "log"), work: filepath.Join(dir, "work"), execution: 1}
	if err := w.prepare(dir); err != nil {
		return t, err
	}
	shares := []float64{0, 0.1, 0.5, 0.9, 1}
	if o.share >= 0 {
		shares = []float64{o.share}
	}
	if o.accelerator == "" {
		w.o.accelerator = "kvm"
		var none *startError
		if err := w.live(filepath.Join(dir, "console"), 0, 1, rand.New(rand.NewPCG(o.seed, 0))); errors.As(err, &none) {
			fmt.Println("notice: no machine starts with KVM here; all of it is emulated, which is slow")
			w.o.accelerator = "tcg"
		} else if err != nil {
			return w.tally, err
		}
	}
	for w.tally.cuts < o.cuts {
		r := rand.New(rand.NewPCG(o.seed, uint64(w.tally.cuts)))
		if err := w.live(filepath.Join(dir, "console"), time.Duration(r.Int64N(int64(o.longest))), shares[w.tally.cuts%len(shares)], r); err != nil {
			return w.tally, err
		}
	}
	// The last execution is brought to its end, undisturbed.
	for done := w.tally.executions; w.tally.executions == done; {
		if err := w.live(filepath.Join(dir, "console"), time.Hour, 1, nil); err != nil {
			return w.tally, err
		}
	}
	return w.tally, nil
}

// prepare makes the disk and the memory disk, and runs the hank here,
// undisturbed, to know its end.
func (w *world) prepare(dir string) error {
	f, err := os.Create(w.initrd)
	if err != nil {
		return err
	}
	if err := errors.Join(initramfs(f, w.o.busybox, w.o.hank, program(w.o.codons), w.o.modules), f.Close()); err != nil {
		return err
	}
	if err := os.WriteFile(w.disk, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(w.disk, int64(w.o.disk)<<20); err != nil {
		return err
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", w.disk).CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.ext4: %w: %s", err, out)
	}
	hank := filepath.Join(dir, "undisturbed")
	if err := os.MkdirAll(hank, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(hank, "hank.json"), []byte(program(w.o.codons)), 0o644); err != nil {
		return err
	}
	run := exec.Command(w.o.hank, "run", hank, "-e", filepath.Join(hank, "x"))
	run.Env = append(os.Environ(), "HANK_STATE_DIR="+filepath.Join(hank, "registry"))
	if out, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("the hank does not even run undisturbed: %w: %s", err, out)
	}
	tree := exec.Command("sh", "-c", "find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-16")
	tree.Dir = filepath.Join(hank, "x", "agentRoot")
	out, err := tree.Output()
	w.want = strings.TrimSpace(string(out))
	return err
}

var acknowledged = regexp.MustCompile(`(?:^  completed in .*, |^initial )checkpoint ([0-9a-f]{12})`)

// patience is how long a machine may take to mount its disk.
const patience = 2 * time.Minute

// startError is that a machine has not come as far.
type startError struct{ why string }

func (e *startError) Error() string { return "the machine did not come up: " + e.why }

// live is one life of the machine: it starts, looks at what it has, works, and
// loses its power after a time, or comes to the end of the hank.
func (w *world) live(console string, after time.Duration, share float64, r *rand.Rand) error {
	if err := copySparse(w.work, w.disk); err != nil {
		return err
	}
	if err := os.WriteFile(w.log, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(w.log, 64<<10); err != nil { // qemu refuses a file with no room for a superblock
		return err
	}
	m := qemu(w.o.qemu, w.o.accelerator, w.o.kernel, w.initrd, w.work, w.log, fmt.Sprintf("execution=x%d", w.execution))
	out, err := m.StdoutPipe()
	if err != nil {
		return err
	}
	said, err := os.Create(console)
	if err != nil {
		return err
	}
	defer said.Close()
	if err := m.Start(); err != nil {
		return err
	}
	stuck := time.AfterFunc(patience, func() { _ = m.Process.Kill() })
	defer stuck.Stop()
	var power *time.Timer
	s := sight{has: map[string]bool{}}
	for lines := bufio.NewScanner(io.TeeReader(out, said)); lines.Scan(); {
		line := strings.TrimRight(lines.Text(), "\r")
		if line == "POWER on" {
			stuck.Stop()
			power = time.AfterFunc(after, func() { _ = m.Process.Kill() })
		}
		s.hear(line)
	}
	_ = m.Wait() // killed, or off
	if power == nil {
		return &startError{s.broken}
	}
	power.Stop()
	return w.settle(s, share, r)
}

// sight is what the machine has said in one life.
type sight struct {
	broken string
	doctor []string // exit codes
	why    []string
	has    map[string]bool
	listed bool
	acked  []string
	ended  string
	tree   string
	off    bool
}

func (s *sight) hear(line string) {
	if m := acknowledged.FindStringSubmatch(line); m != nil {
		s.acked = append(s.acked, m[1])
	}
	rest, ours := strings.CutPrefix(line, "POWER ")
	word, value, _ := strings.Cut(rest, " ")
	switch {
	case !ours:
	case word == "broken":
		s.broken = value
	case word == "doctor":
		s.doctor = append(s.doctor, value)
	case word == "said":
		s.why = append(s.why, value)
	case word == "has":
		s.has[value] = true
	case word == "listed":
		s.listed = true
	case word == "ended":
		s.ended = value
	case word == "tree":
		s.tree = value
	case word == "off":
		s.off = true
	}
}

// settle checks what a life has shown, and leaves the disk as its end did.
func (w *world) settle(s sight, share float64, r *rand.Rand) error {
	known := w.acked
	if s.off {
		known = append(known, s.acked...) // looked at once more in the end
	}
	w.acked = append(w.acked, s.acked...)
	w.tally.acknowledged += len(s.acked)
	if s.broken != "" {
		return errors.New(s.broken)
	}
	for _, code := range s.doctor {
		if code != "0" && (code != "2" || len(known) > 0) {
			return fmt.Errorf("hank doctor ends with %s: %s", code, strings.Join(s.why, "; "))
		}
	}
	if s.listed {
		w.tally.looked++
		for _, sha := range known {
			if !s.has[sha] {
				return fmt.Errorf("checkpoint %s was acknowledged and is lost", sha)
			}
		}
	}
	if s.ended != "" && s.ended != "0" {
		return fmt.Errorf("hank run ends with %s", s.ended)
	}
	if s.off {
		if s.tree != w.want {
			return fmt.Errorf("the tree of execution %d is %s, and %s where nothing was disturbed", w.execution, s.tree, w.want)
		}
		w.tally.executions++
		w.execution, w.acked = w.execution+1, nil
		return os.Rename(w.work, w.disk)
	}
	if r == nil {
		return errors.New("the machine went off before the hank was done, though nobody cut its power")
	}
	w.tally.cuts++
	disk, err := os.OpenFile(w.disk, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	log, err := os.Open(w.log)
	if err != nil {
		return errors.Join(err, disk.Close())
	}
	c, err := apply(disk, log, share, r)
	w.tally.kept, w.tally.lost = w.tally.kept+c.kept, w.tally.lost+c.lost
	fmt.Printf("cut %s: share %s kept %d, lost %d; %d acknowledged in this life\n", strconv.Itoa(w.tally.cuts), strconv.FormatFloat(share, 'g', -1, 64), c.kept, c.lost, len(s.acked))
	return errors.Join(err, log.Close(), disk.Close())
}
