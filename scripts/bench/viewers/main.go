package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"hank/scripts/bench/system"
)

func main() {
	if err := measure(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "viewers: %v\n", err)
		os.Exit(1)
	}
}

// results are all figures, as JSON has them.
type results struct {
	Machine system.Machine `json:"machine"`
	Quick   bool           `json:"quick,omitzero"`
	Sizes   sizes          `json:"sizes"`
	Figures []figure       `json:"figures"`
}

var cases = []struct {
	name string
	run  func(*bench) ([]figure, error)
}{{"terminal", (*bench).terminal}, {"web", (*bench).web}, {"run", (*bench).watched}}

// measure runs the cases and prints what they have found.
func measure(args []string) error {
	flags := flag.NewFlagSet("viewers", flag.ContinueOnError)
	hank := flags.String("hank", "", "the program (default: it is built)")
	out := flags.String("out", "", "the directory of table.txt and viewers.json")
	keep := flags.String("keep", "", "keep what is made in this directory, and use it the next time")
	small := flags.Bool("quick", false, "small sizes, whose figures say nothing about speed")
	control := flags.Bool("control", false, "in the case run, stop the viewers in all blocks: what is found then is what the measurement itself adds")
	apart := flags.Bool("apart", false, "in the case run, give the run the first processor, and the viewers and the bench the second (needs taskset)")
	only := flags.String("case", "", "one case: terminal, web, run")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b := &bench{sizes: full, hank: *hank, control: *control, apart: *apart, say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "viewers: "+format+"\n", args...) }}
	if *small {
		b.sizes = quick
	}
	if !slices.Contains([]string{"", "terminal", "web", "run"}, *only) {
		return fmt.Errorf("there is no case %q; there are terminal, web and run", *only)
	}
	if b.apart {
		if said, err := exec.Command("taskset", "-a", "-c", "-p", "1", strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
			return fmt.Errorf("taskset: %w: %s", err, said)
		}
	}
	cleared, err := b.prepare(*keep)
	if err != nil {
		return err
	}
	defer cleared()
	r := results{Machine: system.LookAtMachine(b.dir), Quick: *small, Sizes: b.sizes}
	for _, c := range cases {
		if *only != "" && *only != c.name {
			continue
		}
		figures, err := c.run(b)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		for i := range figures {
			figures[i].Case = c.name
		}
		r.Figures = append(r.Figures, figures...)
	}
	text := r.text()
	fmt.Print(text)
	if *out == "" {
		return nil
	}
	all, err := json.MarshalIndent(r, "", "  ")
	return errors.Join(err, os.MkdirAll(*out, 0o777), os.WriteFile(filepath.Join(*out, "viewers.json"), append(all, '\n'), 0o666), os.WriteFile(filepath.Join(*out, "table.txt"), []byte(text), 0o666))
}

// text is the report for people: a table of Markdown.
func (r *results) text() string {
	var out strings.Builder
	m := r.Machine
	fmt.Fprintf(&out, "%s, %d cores, %s; %s, kernel %s, %s; %s; hank %s; load before %.2f\n", m.CPU, m.Cores, humanize.IBytes(m.Memory), m.System, m.Kernel, m.FileSystem, m.Go, m.Commit, m.Load[0])
	if r.Quick {
		out.WriteString("quick form: small sizes, whose figures say nothing about speed\n")
	}
	out.WriteString("\n| what | is | target | |\n|---|---|---|---|\n")
	for _, f := range r.Figures {
		target := "–"
		if f.verdict() != "" {
			target = fmt.Sprintf("≤ %s", amount(f.Target, f.Unit))
		}
		what := f.What
		if f.Note != "" {
			what += " (" + f.Note + ")"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", what, amount(f.Value, f.Unit), target, f.verdict())
	}
	return out.String()
}
