package page

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
)

// Fragment makes the content of a place.
func (p *Pages) Fragment(ctx context.Context, at Place) ([]byte, error) {
	var out bytes.Buffer
	id, rest := Split(at.Path)
	if id == "" {
		return p.ofMachine(&out, at)
	}
	root, err := Find(id)
	if err != nil {
		return nil, err
	}
	e, err := p.read(ctx, root)
	if err != nil {
		return nil, err
	}
	e.Acts = at.Acts
	name, data, err := e.page(ctx, rest, at.Query)
	if err != nil {
		return nil, err
	}
	err = p.printer.print(&out, name, data)
	return out.Bytes(), err
}

// page is the template of a page, and its data.
func (e *execution) page(ctx context.Context, rest string, q url.Values) (string, any, error) {
	e.Tab = rest
	switch rest {
	case "":
		e.Title = e.Status.Name
		return e.run()
	case "codon":
		return e.codon(ctx, q)
	case "gate":
		e.Title = "What waits for you"
		return e.gate(ctx, q)
	case "checkpoints":
		e.Title = "Checkpoints"
		return e.checkpoints(ctx, q)
	case "diff":
		e.Title = "Difference"
		return e.diff(ctx, q)
	case "rollback":
		e.Title = "Preview of a rollback"
		return e.rollback(ctx, q)
	case "money":
		e.Title = "Money"
		return e.money(q)
	case "events":
		e.Title = "Events"
		return e.events(q)
	}
	return "", nil, fmt.Errorf("%w: %s", ErrNoPlace, rest)
}
