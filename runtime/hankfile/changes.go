package hankfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hank/plan"
	"hank/recovery/finding"
	"hank/runtime/history"
	"hank/runtime/request"
	"hank/runtime/verdict"
	"hank/state"
)

func AppendNew(ids []plan.CodonID, id plan.CodonID) []plan.CodonID {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

func Listed(ids []plan.CodonID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// FileHash is the digest that Hankweave records of a hank whose text is in its
// normal form.
func FileHash(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// How the questions about a hank that has changed begin, and about one that is lost.
const (
	HankChanged = "the hank has changed since this execution stored its copy"
	hankLost    = "the hank that this execution froze is lost"
)

// IsAsked reports whether a question is about the hank.
func IsAsked(what string) bool {
	return strings.HasPrefix(what, HankChanged) || IsLost(what)
}

// IsLost reports whether a question is about a stored copy that is lost.
func IsLost(what string) bool { return strings.HasPrefix(what, hankLost) }

// ProgramQuestion is the question about a hank that has changed; live is nil where
// it cannot be run any more.
func ProgramQuestion(changes []string, live *plan.Program) *finding.DecisionError {
	ask := &finding.DecisionError{What: HankChanged + " (" + strings.Join(changes, "; ") + ")",
		Options: []string{"--adopt uses the new version", "--frozen uses the stored copy"}, Answers: []string{"--adopt", "--frozen"}}
	if live == nil {
		ask.Options = []string{"--frozen uses the stored copy", "fix the hank (see: hank validate), and --adopt then continues with it"}
		ask.Answers = ask.Answers[1:]
	}
	return ask
}

// OwnChanges lists what the author has changed for the codon that a retry does
// again because it failed, if nothing else differs: its prompts or script, its
// rig, and the files that these name. With the rig's work kept, what the rig is
// does not count.
func OwnChanges(s *state.State, r request.Request, frozen, live *plan.Program) []string {
	last := history.LastRecord(s)
	if r.Mode != request.ModeRetry || live == nil || last == nil || last.Settled() || r.Codon != "" && r.Codon != last.CodonID {
		return nil
	}
	i := s.PlanIndex(last.CodonID)
	if i < 0 {
		return nil
	}
	return plan.OwnChanges(frozen, live, s.ExecutionPlan()[i].Codon.ID, r.FromRigSetup)
}

// LostProgram is the question about a frozen program that cannot be read, why, and
// the option that answers it; nil where the hank as it is now says the same. Where
// that cannot be read either, loadErr, no option does.
func LostProgram(s *state.State, path string, live *plan.Program, why, loadErr error) (*finding.DecisionError, string) {
	if live == nil {
		return &finding.DecisionError{What: fmt.Sprintf(hankLost+" (%v), and %s cannot be run (%v)", why, path, loadErr),
			Options: []string{"restore the previous hank, or fix the current one (hank validate lists its errors), and then `hank run`"}}, ""
	}
	if ProgramHash(live) == s.HankHash {
		return nil, ""
	}
	var before, now []plan.CodonID
	for _, e := range s.ExecutionPlan() {
		before = AppendNew(before, e.Codon.ID)
	}
	for _, e := range live.Initial() {
		now = AppendNew(now, e.Codon.ID)
	}
	return &finding.DecisionError{
		What:    fmt.Sprintf(hankLost+" (%v), and %s is not the same (codons then: %s; now: %s)", why, path, Listed(before), Listed(now)),
		Options: []string{"--adopt continues with it: completed codons that are still in it stay completed", "restore the previous hank, and then `hank run`"},
		Answers: []string{"--adopt"},
	}, verdict.AdoptOption
}

// HankChanges says, per codon, in what the author's hank differs from the frozen
// one. A hank that is gone or broken by now differs as a whole; so does every one
// where the frozen one is not given, if a byte of it differs.
func HankChanges(s *state.State, frozen, live *plan.Program, loadErr error) []string {
	switch {
	case live == nil && (loadErr == nil || errors.Is(loadErr, os.ErrNotExist)):
		return nil
	case live == nil:
		return []string{"the hank has errors now: " + loadErr.Error()}
	case Same(s, frozen, live):
		return nil
	}
	if frozen == nil {
		return []string{"changed"}
	}
	return DescribeChanges(frozen, live)
}

// Same reports whether the author's hank is the frozen one, or differs from it in nothing
// but the white space between the tokens of its own file, which hank fmt changes. frozen
// may be nil; white space counts then.
func Same(s *state.State, frozen, live *plan.Program) bool {
	if ProgramHash(live) == s.HankHash {
		return true
	}
	if frozen == nil || frozen.Name != live.Name {
		return false
	}
	was, is := ownFile(frozen), ownFile(live)
	if was == nil || is == nil || programHash(live, was.Digest) != s.HankHash {
		return false
	}
	before, beforeErr := tokens(was)
	now, nowErr := tokens(is)
	return beforeErr == nil && nowErr == nil && before == now
}

// ownFile is the hank's own file.
func ownFile(p *plan.Program) *plan.File {
	i := slices.IndexFunc(p.Files, func(f plan.File) bool { return f.Path == "hank/"+p.Name })
	if i < 0 {
		return nil
	}
	return &p.Files[i]
}

// tokens is the JSON text of a file without the white space between its tokens. The
// author's file may have changed since it was read: that is an error.
func tokens(f *plan.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, f.Size+1))
	if err == nil && digest(string(text)) != f.Digest {
		err = errors.New("it has changed since it was read")
	}
	value := jsontext.Value(text)
	err = errors.Join(err, value.Compact())
	return string(value), err
}

func DescribeChanges(frozen, live *plan.Program) []string {
	var out []string
	for _, c := range plan.Compare(frozen, live) {
		out = append(out, c.String())
	}
	if len(out) == 0 && onlyItsText(frozen, live) {
		out = append(out, "only how "+live.Name+" is written: every codon is the same")
	}
	if len(out) == 0 {
		out = append(out, "files that it refers to")
	}
	return out
}

// onlyItsText reports whether two programs differ in no file but that of the hank.
func onlyItsText(a, b *plan.Program) bool {
	digests := func(p *plan.Program) map[string]string {
		all := map[string]string{}
		for _, f := range p.Files {
			if f.Path != "hank/"+p.Name {
				all[f.Path] = fmt.Sprint(f.Digest, f.Mode.Perm()&0o111 != 0)
			}
		}
		return all
	}
	return a.Name == b.Name && maps.Equal(digests(a), digests(b))
}

// ProgramHash is the digest of what a hank says: its files, and the models that
// its codons name. The settings around it are not part of it: a ceiling for one
// run does not make another program.
func ProgramHash(p *plan.Program) string { return programHash(p, "") }

// programHash is ProgramHash with another digest of the hank's own file, if one is given.
func programHash(p *plan.Program, own string) string {
	var all strings.Builder
	for _, f := range p.Files {
		if f.Path == "hank/"+p.Name {
			f.Digest = cmp.Or(own, f.Digest)
		}
		fmt.Fprintf(&all, "%s %o %s\n", f.Path, f.Mode.Perm()&0o111, f.Digest)
	}
	for _, e := range p.Initial() {
		fmt.Fprintf(&all, "%s %s\n", e.CodonID, e.Codon.Model)
	}
	return digest(all.String())
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}
