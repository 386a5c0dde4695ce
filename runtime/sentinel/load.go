package sentinel

import (
	"fmt"

	"hank/plan"
	"hank/runtime/exitcode"
	"hank/runtime/sentinel/provider"
)

// Lost is a sentinel that cannot be loaded.
type Lost struct {
	Name     string // its id, or the file of its configuration
	Why      string
	Required bool // its codon is not to run without it
}

// Load makes the sentinels of an entry ready, as far as they can run with an environment.
// Nothing is connected.
func Load(p *plan.Program, e plan.Entry, environ []string) (list []Loaded, lost []Lost) {
	for _, s := range e.Codon.Sentinels {
		one := Loaded{}
		c, ref, err := p.SentinelConfig(s)
		if err == nil {
			var at provider.Endpoint
			if at, err = provider.EndpointOf(ref, environ); err == nil {
				one = Loaded{Config: c, Model: ref, Asker: provider.NewClient(at), Votes: p.SentinelVotes(e, c.ID)}
			}
		}
		if err != nil {
			name := s.Name()
			if c != nil {
				name = c.ID
			}
			lost = append(lost, Lost{name, err.Error(), s.Required()})
			continue
		}
		list = append(list, one)
	}
	return list, lost
}

// Unanswered tells of a codon which of its sentinels have a model without a key or an address. The
// hank was found to be valid. An environment is looked through once for each model.
func Unanswered(p *plan.Program, environ []string) func(c *plan.Codon) []Lost {
	whys := map[string]error{}
	return func(c *plan.Codon) (lost []Lost) {
		for _, s := range c.Sentinels {
			id, ref := p.SentinelModel(s)
			why, known := whys[ref.String()]
			if !known {
				_, why = provider.EndpointOf(ref, environ)
				whys[ref.String()] = why
			}
			if why != nil {
				lost = append(lost, Lost{id, why.Error(), s.Required()})
			}
		}
		return lost
	}
}

// Ready refuses entries whose codons would fail because a sentinel that they are not to run
// without cannot be loaded.
func Ready(p *plan.Program, entries []plan.Entry, environ []string) error {
	for _, e := range entries {
		if e.Codon.Failure() == plan.Ignore {
			continue
		}
		_, lost := Load(p, e, environ)
		for _, l := range lost {
			if l.Required {
				return &exitcode.AgentError{Why: fmt.Sprintf("codon %s is not to run without sentinel %s (failCodonIfNotLoaded), which cannot be loaded: %s", e.CodonID, l.Name, l.Why)}
			}
		}
	}
	return nil
}
