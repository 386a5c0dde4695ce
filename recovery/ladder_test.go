package recovery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/race"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/state"
)

func boxed(t testing.TB, n int) *box {
	t.Helper()
	root := t.TempDir()
	return pack(t, root, told(t, history(t, root, n, CreateOptions{}).close()))
}

// Every combination of what can be deleted: state and costs come back from
// what is left, and the report says what was gone.
func TestWhateverIsDeletedTheStateComesBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := boxed(t, 24)
	files := []struct{ name, path, said string }{
		{"state.json", b.l.State(), ""},
		{"state.json.bak", b.l.State() + ".bak", ""},
		{"journal", b.l.Events(), "journal"},
		{"meta", b.l.Meta(), "execution-meta.json"},
		{"index", b.l.Index(), ""},
		{"runs", b.l.Runs(), ""},
	}
	for set := range 1 << len(files) {
		if set%race.Step > 0 {
			continue
		}
		b.reset()
		var names, said []string
		for i, f := range files {
			if set&(1<<i) != 0 {
				remove(t, f.path)
				names = append(names, f.name)
				if f.said != "" {
					said = append(said, f.said)
				}
			}
		}
		what := "without " + strings.Join(names, ", ")
		rep := b.recovers(what)
		switch gone := set & 7; {
		case gone == 7:
			says(t, what, rep, "rebuilt from the checkpoints")
			if rep.Source != "git" {
				t.Errorf("%s: the source is %s", what, rep.Source)
			}
		case gone == 3 || gone&1 != 0 && gone&4 == 0:
			says(t, what, rep, append(said, "state.json")...)
		default:
			says(t, what, rep, said...)
		}
	}
}

// Nothing at all is left, or nothing that can be read: a person decides, and
// nothing is touched until then.
func TestNothingLeftIsAPersonsDecision(t *testing.T) {
	t.Parallel()
	b := boxed(t, 12)
	for name, damage := range map[string]func(){
		"all gone but the runs": func() { remove(t, b.l.Store()) },
		"the store is a ruin":   func() { remove(t, filepath.Join(b.l.Store(), "objects")) },
		"the references and all packs are gone": func() {
			remove(t, filepath.Join(b.l.Store(), "refs"))
			remove(t, filepath.Join(b.l.Store(), "objects", "pack"))
			ok(t, os.Mkdir(filepath.Join(b.l.Store(), "objects", "pack"), 0o700))
		},
		"all packs are gone": func() {
			remove(t, filepath.Join(b.l.Store(), "objects", "pack"))
			ok(t, os.Mkdir(filepath.Join(b.l.Store(), "objects", "pack"), 0o700))
		},
		"garbage in every memory": func() {
			remove(t, b.l.Store())
			put(t, b.l.State(), []byte("{}"))
			ok(t, os.MkdirAll(b.l.Events(), 0o700))
			put(t, b.journal(), []byte("junk\n"))
		},
		"garbage and no runs": func() {
			remove(t, b.l.Store())
			remove(t, b.l.Runs())
			ok(t, os.MkdirAll(b.l.Events(), 0o700))
			put(t, b.journal(), make([]byte, 5000))
		},
	} {
		b.reset()
		for _, path := range []string{b.l.State(), b.l.State() + ".bak", b.l.Events()} {
			remove(t, path)
		}
		damage()
		before := hash(t, b.root)
		var decision *finding.DecisionError
		if v, err := Read(b.root); !errors.As(err, &decision) {
			t.Errorf("%s: a reader sees %+v, %v", name, v, err)
		}
		if hash(t, b.root) != before {
			t.Errorf("%s: a reader has written", name)
		}
		decision = nil
		x, err := Open(context.Background(), b.root, execution.Options{FS: fast})
		if err == nil {
			t.Errorf("%s: opened as %+v", name, x.Report)
			ok(t, x.Close())
			continue
		}
		if !errors.As(err, &decision) || !strings.Contains(err.Error(), "--fresh") {
			t.Errorf("%s: %v", name, err)
		}
		x, err = Open(context.Background(), b.root, execution.Options{FS: fast, Fresh: true})
		if err != nil {
			t.Errorf("%s: --fresh: %v", name, err)
			continue
		}
		if x.Report.Source != "new" || !x.Report.Has(finding.Lost) {
			t.Errorf("%s: --fresh: %+v", name, x.Report)
		}
		ok(t, x.Close())
	}
}

// offsets are the places of a text that are attacked: the first record, the
// last 4 KiB, and a random stride elsewhere. By default one byte in 61 of the
// first two; the long form takes each.
func offsets(text []byte, rng *rand.Rand) []int {
	step := 61
	if long {
		step = 1
	}
	first := min(strings.Index(string(text), "\n      ]"), 3000)
	if first < 0 {
		first = min(len(text), 3000)
	}
	var at []int
	for i := 0; i < first; i += step {
		at = append(at, i)
	}
	for i := max(len(text)-4096, first); i < len(text); i += step {
		at = append(at, i)
	}
	for i := first; i < len(text)-4096; i += 1 + rng.IntN(200*step) {
		at = append(at, i)
	}
	return at
}

// A flipped byte or a cut anywhere in state.json of 200 codons is noticed, and
// the other memories know everything: of the damages one in 17 (in the long form
// one in five) is also put on the disk for a reader, in turn in state.json
// alone, in .bak too, and in the journal too, and one in a hundred for a writer,
// which keeps the damaged file.
func TestADamagedStateIsNeverTakenForAState(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := boxed(t, 200)
	text, journal := b.files[b.l.State()], b.files[b.journal()]
	rng := rand.New(rand.NewPCG(seed, 7))
	damages, reads, opened := 0, 0, 0
	every := 17
	if long {
		every = 5
	}
	for i, at := range offsets(text, rng) {
		if i%race.Step > 0 {
			continue
		}
		flipped := append([]byte(nil), text...)
		flipped[at] ^= byte(1 + rng.IntN(255))
		for _, damaged := range [][]byte{flipped, text[:at]} {
			damages++
			if state.Verify(damaged) == nil {
				t.Fatalf("damage at byte %d of %d was not noticed", at, len(text))
			}
			what := fmt.Sprintf("state.json damaged at byte %d", at)
			if damages%every == 0 {
				put(t, b.l.State(), damaged)
				if reads%3 > 0 {
					what += ", .bak too"
					put(t, b.l.State()+".bak", damaged)
				}
				if reads%3 > 1 {
					what += ", the journal too"
					broken := append([]byte(nil), journal...)
					broken[rng.IntN(len(broken))] ^= byte(1 + rng.IntN(255))
					put(t, b.journal(), broken)
				}
				reads++
				says(t, what, b.reads(what), "state.json")
				for _, path := range []string{b.l.State() + ".bak", b.journal()} {
					put(t, path, b.files[path])
				}
			}
			if damages%101 == 0 {
				opened++
				b.reset()
				put(t, b.l.State(), damaged)
				says(t, what, b.recovers(what), "state.json")
				b.inQuarantine(what, "state.json", damaged)
				b.reset()
			}
		}
	}
	t.Logf("seed %d: %d damages of %d bytes, %d of them read back and %d recovered", seed, damages, len(text), reads, opened)
}

// One memory after the other is damaged, at seeded places, in 200 codons.
func TestTheLadderGoesDownOneRungAtATime(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	b := boxed(t, 200)
	rungs := []string{b.l.State(), b.l.State() + ".bak", b.journal(), b.l.Meta(), b.l.StatCache()}
	rng := rand.New(rand.NewPCG(seed, 11))
	rounds := 3
	if long {
		rounds = 100
	}
	for round := range rounds {
		for down := range rungs {
			b.reset()
			damages := map[string][]byte{}
			for _, path := range rungs[:down+1] {
				text := append([]byte(nil), b.files[path]...)
				switch at := rng.IntN(len(text)); round % 3 {
				case 0:
					text[at] ^= byte(1 + rng.IntN(255))
				case 1:
					text = text[:at]
				case 2:
					clear(text[at/4096*4096:])
				}
				put(t, path, text)
				damages[path] = text
			}
			what := fmt.Sprintf("round %d, down to %s", round, filepath.Base(rungs[down]))
			rep := b.recovers(what)
			says(t, what, rep, "state.json")
			b.inQuarantine(what, "state.json", damages[b.l.State()])
			if down > 0 {
				says(t, what, rep, "state.json.bak")
				b.inQuarantine(what, "state.json.bak", damages[b.l.State()+".bak"])
			}
		}
	}
	t.Logf("seed %d: %d rungs damaged and recovered from", seed, rounds*len(rungs))
}

// The journal is damaged right behind where a move of the workspace was
// announced, and nothing else is left but git: checkpoints of codons that came
// after it prove that it was carried out, and it is not carried out again.
func TestAMoveThatCheckpointsOutlivedIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	b := boxed(t, 24)
	lines := strings.SplitAfter(string(b.files[b.journal()]), "\n")
	moves := 0
	for i, line := range lines[:len(lines)-1] {
		if !strings.Contains(line, `"transitionType":"IntentOpened"`) {
			continue
		}
		moves++
		what := fmt.Sprintf("the journal ends with line %d", i+1)
		b.reset()
		remove(t, b.l.State())
		remove(t, b.l.State()+".bak")
		put(t, b.journal(), []byte(strings.Join(lines[:i+1], "")+"damaged\n"+strings.Join(lines[i+2:], "")))
		b.recovers(what)
	}
	if moves < 2 {
		t.Fatalf("only %d moves", moves)
	}
}
