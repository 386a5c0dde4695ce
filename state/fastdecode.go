package state

import (
	"bytes"
	"errors"
	"hash/maphash"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json"

	"hank/plan"
)

// This file reads a state that hank itself has written, which its digest says
// of every byte. Its form is then known: each record of a run, and each entry
// of the plan, begins and ends at a line of a known depth. So they are cut out
// first and read side by side, and the text of each is kept as it is instead
// of being made again. The cost is that of reading the JSON once, divided by
// the cores.

// errOtherForm is a text that hank's Marshal has not written. It may be a
// state all the same.
var errOtherForm = errors.New("not of the form in which hank writes a state")

// unmarshalOwn reads a text whose digest is right.
func unmarshalOwn(text []byte) (*State, error) {
	rest, records, entries, ok := cutLists(text)
	if !ok {
		return nil, errOtherForm
	}
	doc, err := parse(rest)
	if err != nil {
		return nil, err
	}
	if len(doc.Runs) != len(records) {
		return nil, errOtherForm
	}
	for i, texts := range records {
		doc.Runs[i].Codons = make([]*Codon, len(texts))
		if err := sideBySide(len(texts), func() func(int) error {
			return func(k int) error {
				c := &Codon{encoded: texts[k]}
				doc.Runs[i].Codons[k] = c
				return json.Unmarshal(texts[k], c)
			}
		}); err != nil {
			return nil, &DamagedError{describe(err)}
		}
	}
	s, err := doc.state()
	if err != nil {
		return nil, err
	}
	steps := make([]*PlanEntry, len(entries))
	if err := sideBySide(len(entries), func() func(int) error {
		codons := codonTexts{}
		return func(k int) error {
			steps[k] = &PlanEntry{encoded: entries[k]}
			return codons.entry(entries[k], &steps[k].Entry)
		}
	}); err != nil {
		return nil, &DamagedError{describe(err)}
	}
	s.plan = newList(steps)
	return s, nil
}

// cutLists takes the records of all runs and the entries of the plan out of a
// text, and returns what is left, in which these lists are empty.
func cutLists(text []byte) (rest []byte, records [][][]byte, entries [][]byte, ok bool) {
	rest = make([]byte, 0, 64<<10)
	at := bytes.Index(text, []byte("\n  ],"+planHead)) // the end of runs; they have no line at this depth
	if at < 0 {
		at = 0 // there are none
	}
	runs, behind := text[:at], text[at:]
	for {
		before, list, more := bytes.Cut(runs, []byte(codonsKey))
		rest = append(rest, before...)
		if !more {
			break
		}
		texts, tail, ok := cutList(list, "\n        ")
		if !ok {
			return nil, nil, nil, false
		}
		rest = append(append(rest, codonsKey...), "[]"...)
		records, runs = append(records, texts), tail
	}
	before, list, there := bytes.Cut(behind, []byte(planKey))
	if !there {
		return nil, nil, nil, false
	}
	entries, tail, ok := cutList(list, "\n    ")
	rest = append(append(append(rest, before...), planKey...), "[]"...)
	return append(rest, tail...), records, entries, ok
}

// planHead is what follows the runs.
const planHead = "\n  \"currentRunId\": "

// cutList takes apart a list of objects, each of which begins and ends at the
// depth, as (*writer).list writes it. tail is what follows the list.
func cutList(text []byte, depth string) (items [][]byte, tail []byte, ok bool) {
	if tail, empty := bytes.CutPrefix(text, []byte("[]")); empty {
		return nil, tail, true
	}
	if text, ok = bytes.CutPrefix(text, []byte("[")); !ok {
		return nil, nil, false
	}
	open, end := []byte(depth+"{"), []byte(depth+"}")
	for {
		if !bytes.HasPrefix(text, open) {
			return nil, nil, false
		}
		n := bytes.Index(text, end)
		if n < 0 {
			return nil, nil, false
		}
		n += len(end)
		items = append(items, text[len(depth):n:n])
		if text = text[n:]; len(text) == 0 || text[0] != ',' {
			break
		}
		text = text[1:]
	}
	tail, ok = bytes.CutPrefix(text, []byte(depth[:len(depth)-2]+"]"))
	return items, tail, ok
}

// codonTexts are the codons that were read, by their texts: the entries of a
// loop have the same one in each iteration, and share it.
type codonTexts map[uint64]codonText

type codonText struct {
	text  []byte
	codon *plan.Codon
}

var textSeed = maphash.MakeSeed()

// entry reads an entry of the plan.
func (known codonTexts) entry(text []byte, into *plan.Entry) error {
	const head, end = "{\n      \"codon\": ", "\n      },"
	body, ok := bytes.CutPrefix(text, []byte(head))
	n := bytes.Index(body, []byte(end))
	if !ok || n < 0 {
		return json.Unmarshal(text, into)
	}
	n += len(end) - 1
	codon := body[:n]
	hash := maphash.Bytes(textSeed, codon)
	if same, ok := known[hash]; ok && bytes.Equal(same.text, codon) {
		rest := append([]byte("{"), body[n+1:]...)
		err := json.Unmarshal(rest, into)
		into.Codon = same.codon
		return err
	}
	err := json.Unmarshal(text, into)
	if err == nil {
		known[hash] = codonText{codon, into.Codon}
	}
	return err
}

// sideBySide calls a function for each number below n, on all cores, in
// pieces. begin makes the function for one of them. It returns the first
// error, by the numbers.
func sideBySide(n int, begin func() func(int) error) error {
	const least = 256 // below, a core is not worth its start
	workers := max(1, min(runtime.GOMAXPROCS(0), n/least))
	failed := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			do := begin()
			for i := n * w / workers; i < n*(w+1)/workers && failed[w] == nil; i++ {
				failed[w] = do(i)
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
