package state

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FuzzUnmarshal: what is read as a state is written as one that reads the same,
// members that nobody knows included; what is refused says why. Texts of hank's
// own get the digest that fits, or no fuzzer would get past it.
func FuzzUnmarshal(f *testing.F) {
	for _, pattern := range []string{"../fixtures/states/*.json", "../fixtures/states/broken/*.json"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			if at := bytes.LastIndex(text, []byte(digestKey)); at >= 0 {
				text = text[:at]
			}
			f.Add(text)
		}
	}
	f.Add([]byte(`{"runs":[],"executionPlan":[]}`))
	f.Add([]byte(`{"runs":[{"runId":"a","codons":[null]}],"executionPlan":[{}],"x":{"y":1e999}}`))
	f.Add([]byte(`{"runs":[],"executionPlan":[],"hank":{"schema":1,"serial":18446744073709551616}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		signed := fmt.Appendf(bytes.Clone(text), "%s%x\"\n}\n", digestKey, sha256.Sum256(text))
		for _, text := range [][]byte{text, signed} {
			s, err := Unmarshal(text)
			var damaged *DamagedError
			var newer *NewerError
			switch {
			case err == nil:
			case errors.As(err, &damaged) && damaged.Why != "" || errors.As(err, &newer):
				continue
			default:
				t.Fatalf("an error that nobody expects: %v", err)
			}
			validated(s)
			once, err := s.Marshal()
			if err != nil {
				t.Fatalf("it was read and cannot be written: %v", err)
			}
			back, err := Unmarshal(once)
			if err != nil {
				t.Fatalf("it was written and cannot be read: %v\n%s", err, once)
			}
			twice, err := back.Marshal()
			if err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("it is not the same again: %v\n%s\n%s", err, once, twice)
			}
			if len(once) > 100*len(text)+10_000 {
				t.Fatalf("%d bytes became %d", len(text), len(once))
			}
		}
	})
}

// FuzzTransition: what is read as a transition is written as the same one; it
// is refused by a state, which then is as it was, or the state that it makes can
// be written and read.
func FuzzTransition(f *testing.F) {
	names, err := filepath.Glob("../fixtures/states/*.json")
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	var states []*State
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if s, err := Unmarshal(text); err == nil {
			states = append(states, s)
		}
	}
	sha := SHA(strings.Repeat("a", 40))
	for i, tr := range []Transition{InitialCheckpointSet{SHA: sha}, RunFailed{RunID: "r", Reason: EndStopped}, RunPaused{RunID: "r", Reason: EndDecision}, RunCrashed{RunID: "r"},
		CodonStarted{RunID: "r", Record: &Codon{CodonID: "c"}}, CodonTransitioned{RunID: "r", Record: &Codon{}}, CostsUpdated{RunID: "r", Cost: -1}, CheckpointCreated{Kind: KindManual},
		RunStarted{Run: &Run{RunID: "r"}}, PlanGrown{}, PlanSet{}, IntentOpened{}, IntentClosed{}, BranchesRemoved{}, OperationAnswered{}, OperationAnswered{Operation{ID: "o", Command: "run"}}, LimitsSet{Limits{MaxDollars: -1}}, LimitsSet{Limits{MaxDollars: Dollar, MaxTimeSeconds: 60}}, Rebased{State: []byte(`{"runs":[],"executionPlan":[]}`)}} {
		text, err := Encode(tr)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := Decode(text); err != nil {
			f.Fatalf("a seed cannot be read: %v", err)
		}
		f.Add([]byte(text), uint8(i))
	}
	f.Add([]byte(`{"transition":{"type":"CodonTransitioned","data":{"runId":"r","record":null}}}`), uint8(0))
	f.Add([]byte(`{"transition":{"type":"CodonStarted","data":null}}`), uint8(0))
	f.Add([]byte(`{"transition":{"type":"RunStarted","data":{}}}`), uint8(0))
	for i, s := range states {
		r, err := s.Rebase("seed")
		if err != nil {
			f.Fatal(err)
		}
		text, err := Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := Decode(text); err != nil {
			f.Fatalf("a seed cannot be read: %v", err)
		}
		f.Add([]byte(text), uint8(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		tr, err := Decode(jsontext.Value(text))
		if err != nil {
			return
		}
		once, err := Encode(tr)
		if err != nil {
			t.Fatalf("it was read and cannot be written: %v", err)
		}
		back, err := Decode(once)
		if err != nil {
			t.Fatalf("it was written and cannot be read: %v\n%s", err, once)
		}
		if twice, err := Encode(back); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("it is not the same again: %v\n%s\n%s", err, once, twice)
		}
		s := states[int(which)%len(states)]
		before, err := s.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		next, err := Apply(s, s.Seq+1, tr)
		if after, err := s.Marshal(); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("the old state was changed: %v", err)
		}
		if err != nil {
			return
		}
		written, err := next.Marshal()
		if err != nil {
			t.Fatalf("the new state cannot be written: %v", err)
		}
		if _, err := Unmarshal(written); err != nil {
			t.Fatalf("the new state cannot be read: %v\n%s", err, written)
		}
	})
}

// FuzzMoney: an amount that can be read comes back to the billionth, as far as
// numbers of JSON carry it.
func FuzzMoney(f *testing.F) {
	for _, s := range []string{"0", "-0", "1e-10", "0.0312", "1e400", "9223372036.854775807", "-9223372036.9", "NaN", "0x1p3", "1_0", "Inf", `"1"`, "null"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var u, back USD
		if json.Unmarshal(text, &u) != nil {
			return
		}
		again, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if off := back - u; (off < -1 || off > 1) && u < 1_000_000*Dollar && u > -1_000_000*Dollar || off != 0 && u < 1000*Dollar && u > -1000*Dollar {
			t.Fatalf("%s is %d and came back as %d", text, u, back)
		}
	})
}
