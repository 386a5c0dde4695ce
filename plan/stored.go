package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"hank/internal/secret"
	"hank/plan/jsonshape"
	"hank/plan/tree"
)

// longText is the length in bytes above which a text is not stored in a plan
// entry.
const longText = 4 << 10

const placeholderPrefix = "{sha256:"

// placeholder stands for a text in a stored entry: {sha256:<64 hex digits>}.
func placeholder(text string) string {
	return "{" + tree.DigestOf([]byte(text)) + "}"
}

func isPlaceholder(text string) bool {
	return len(text) == len(placeholderPrefix)+65 && strings.HasPrefix(text, placeholderPrefix) && text[len(text)-1] == '}' &&
		strings.Trim(text[len(placeholderPrefix):len(text)-1], "0123456789abcdef") == ""
}

// stored returns the entry as it is kept in state.json: every string of the
// codon over 4 KiB or with a key in it, wherever it is but in its gate, and every
// value of env, is replaced by the string {sha256:…} with the SHA-256 of its UTF-8 bytes. Resolve brings the
// texts back from the (frozen) program. A text that is itself written like that
// stays, so that storing twice changes nothing; it resolves to itself.
func (e Entry) stored() Entry {
	return e.mapTexts(func(text string, private bool) (string, error) {
		if isReplaced(text, private) {
			return placeholder(text), nil
		}
		return text, nil
	})
}

// StoredEntries returns the stored forms of a plan. A codon that entries share, as the
// iterations of a loop do, is looked at once.
func StoredEntries(entries []Entry) []Entry {
	stored, out := map[*Codon]*Codon{}, slices.Clone(entries)
	for i := range out {
		c, seen := stored[out[i].Codon]
		if !seen {
			c = out[i].stored().Codon
			stored[out[i].Codon] = c
		}
		out[i].Codon = c
	}
	return out
}

func isReplaced(text string, private bool) bool {
	return (private || len(text) > longText || secret.Text(text) != text) && !isPlaceholder(text)
}

// mapTexts changes the strings of the codon. A codon in which nothing changes
// stays shared. An error of change leaves the text as it is.
func (e Entry) mapTexts(change func(text string, private bool) (string, error)) Entry {
	if e.Codon == nil {
		return e
	}
	root, err := codonNode(e.Codon)
	if err != nil {
		return e // a codon that was read as JSON can be written as JSON
	}
	changed := false
	textsOf(root, func(n *jsonshape.Node, private bool) {
		if text, err := change(n.Text, private); err == nil && text != n.Text {
			n.Text, changed = text, true
		}
	})
	if !changed {
		return e
	}
	c := new(Codon)
	if err := json.Unmarshal(root.Sound(), c); err != nil {
		return e
	}
	e.Codon = c
	return e
}

// codonNode is the JSON of a codon as a tree.
func codonNode(c *Codon) (*jsonshape.Node, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return jsonshape.Parse(data)
}

// textsOf visits every string value of a codon but those of its gate, which are shown and
// compared with what was asked; private marks the values of env.
func textsOf(n *jsonshape.Node, visit func(n *jsonshape.Node, private bool)) {
	env, gate := n.Step("env"), n.Step("gate")
	for i := range n.Kids {
		if kid := &n.Kids[i]; kid != gate {
			stringsOf(kid, kid == env, visit)
		}
	}
}

func stringsOf(n *jsonshape.Node, private bool, visit func(n *jsonshape.Node, private bool)) {
	if n.Kind == '"' {
		visit(n, private)
	}
	for i := range n.Kids {
		stringsOf(&n.Kids[i], private, visit)
	}
}

// Resolve brings back the texts of a stored entry. It fails if the program is
// not the one that the entry was made from.
func (p *Program) Resolve(e Entry) (Entry, error) {
	if e.Codon == nil {
		return e, fmt.Errorf("plan entry %q has no codon", e.CodonID)
	}
	if p.codons[e.Codon.ID] == e.Codon { // it has its texts
		return e, nil
	}
	var missing error
	resolved := e.mapTexts(func(text string, _ bool) (string, error) {
		if !isPlaceholder(text) {
			return text, nil
		}
		original, ok := p.digests()[text]
		if !ok {
			missing = fmt.Errorf("plan entry %q: the program has no text %s: the plan was made from another hank", e.CodonID, text)
			return text, missing
		}
		return original, nil
	})
	return resolved, missing
}

// collectDigests lists the texts that stored entries of the program can stand
// for, by placeholder.
func (p *Program) collectDigests() map[string]string {
	all := map[string]string{}
	for _, c := range p.codons {
		Entry{Codon: c}.mapTexts(func(text string, private bool) (string, error) {
			if isReplaced(text, private) {
				all[placeholder(text)] = text
			}
			if _, taken := all[text]; !taken && isPlaceholder(text) {
				all[text] = text
			}
			return text, nil
		})
	}
	return all
}
