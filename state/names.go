package state

import (
	"bytes"

	"github.com/go-json-experiment/json"

	"hank/plan"
)

// The members of which names are made, as they begin a line of a record or of an entry.
const (
	recordMember = "\n          \""
	entryMember  = "\n      \""
)

// UnmarshalNames reads of a text that hank has written what names of targets and codons are
// made of: the runs, of each record its codon, its status and its checkpoints, and of each
// entry of the plan its codon. The state
// is good for nothing else; the digest is not looked at. false: the text has another form.
func UnmarshalNames(text []byte) (*State, bool) {
	rest, records, entries, ok := cutLists(text)
	if !ok {
		return nil, false
	}
	doc, err := parse(rest)
	if err != nil || len(doc.Runs) != len(records) {
		return nil, false
	}
	for i, texts := range records {
		list := make([]Codon, len(texts))
		doc.Runs[i].Codons = make([]*Codon, len(texts))
		for k, text := range texts {
			c := &list[k]
			c.CodonID, c.Status = CodonID(memberOf(text, recordMember+"codonId\": ")), CodonStatus(memberOf(text, recordMember+"status\": "))
			c.RigSetupCheckpoint = SHA(memberOf(text, recordMember+"rigSetupCheckpoint\": "))
			c.CompletionCheckpoint = SHA(memberOf(text, recordMember+"completionCheckpoint\": "))
			c.ErrorCheckpoint = SHA(memberOf(text, recordMember+"errorCheckpoint\": "))
			c.SkipCheckpoint = SHA(memberOf(text, recordMember+"skipCheckpoint\": "))
			c.FailureIgnored = memberOf(text, recordMember+"failureIgnored\": ") == "true"
			c.encoded, doc.Runs[i].Codons[k] = text, c
		}
	}
	s, err := doc.state()
	if err != nil {
		return nil, false
	}
	none, list, steps := new(plan.Codon), make([]PlanEntry, len(entries)), make([]*PlanEntry, len(entries))
	for k, text := range entries {
		list[k] = PlanEntry{Entry: plan.Entry{Codon: none, CodonID: CodonID(memberOf(text, entryMember+"codonId\": "))}, encoded: text}
		steps[k] = &list[k]
	}
	s.plan = newList(steps)
	return s, true
}

// memberOf is the value of a member that has a line of its own: a string, or what is there;
// empty if there is none.
func memberOf(text []byte, head string) string {
	at := bytes.Index(text, []byte(head))
	if at < 0 {
		return ""
	}
	line, _, _ := bytes.Cut(text[at+len(head):], []byte("\n"))
	line = bytes.TrimSuffix(line, []byte(","))
	if len(line) < 2 || line[0] != '"' {
		return string(line)
	}
	if !bytes.Contains(line, []byte(`\`)) {
		return string(line[1 : len(line)-1])
	}
	var value string
	_ = json.Unmarshal(line, &value)
	return value
}
