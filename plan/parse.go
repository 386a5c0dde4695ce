package plan

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/diagnostic"
	"hank/plan/fields"
	"hank/plan/jsonshape"
	"hank/plan/variables"
)

// parse reads the file and checks its fields.
func parse(name string, data []byte, out *diagnostic.Reporter) *Hank {
	decoded := jsonshape.DecodeAhead[Hank](data)
	doc := jsonshape.Read(name, data, out.Problem)
	if doc.Root == nil {
		return nil
	}
	out.Check(doc, fields.Hank)
	h := new(Hank)
	if !doc.Root.Bad {
		var err error
		if h, err = decoded(doc.Sound()); err != nil {
			out.At(doc, 0, "", "syntax", err.Error(), "")
		}
	}
	h.doc = doc
	h.places, h.known = h.findPlaces(), variables.NamesOf(h.Variables)
	return h
}

// UnmarshalJSONFrom reads a loop if "type" is "loop", else a codon. null is neither.
func (i *Item) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*i = Item{}
	raw, err := d.ReadValue()
	if err != nil || raw.Kind() == 'n' {
		return err
	}
	if jsonshape.TypeOf(raw) == "loop" {
		i.Loop = new(Loop)
		return json.Unmarshal(raw, i.Loop)
	}
	i.Codon = new(Codon)
	return json.Unmarshal(raw, i.Codon)
}

func (p place) id() CodonID {
	if p.loop != nil {
		return p.loop.ID
	}
	return p.codon.ID
}

func (p place) name() string {
	if p.loop != nil {
		return p.loop.Name
	}
	return p.codon.Name
}

// findPlaces lists every codon and loop in the order of the file, a loop before
// its codons. Items that could not be read are left out.
func (h *Hank) findPlaces() (all []place) {
	for i, item := range h.Items {
		at := fmt.Sprintf("/hank/%d", i)
		switch {
		case item.Codon != nil:
			all = append(all, place{pointer: at, codon: item.Codon})
		case item.Loop != nil:
			all = append(all, place{pointer: at, loop: item.Loop})
			for j := range item.Loop.Codons {
				pointer := fmt.Sprintf("%s/codons/%d", at, j)
				if n := h.doc.At(pointer); n == nil || !n.Bad {
					all = append(all, place{pointer: pointer, codon: &item.Loop.Codons[j], inside: item.Loop})
				}
			}
		}
	}
	return all
}

// report reports a rule at a JSON pointer of the hank.
func (h *Hank) report(out *diagnostic.Reporter, pointer, rule, hint, message string, args ...any) {
	out.At(h.doc, h.doc.Find(pointer), pointer, rule, fmt.Sprintf(message, args...), hint)
}
