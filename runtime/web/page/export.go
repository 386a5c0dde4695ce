package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"

	"hank/state"
)

// Export writes the pages of an execution as one HTML file without a script: the run, each
// codon with its newest transcript and what it has changed, the checkpoints, costs and
// events, as far as pages show them at once.
func (p *Pages) Export(ctx context.Context, out io.Writer, root string) error {
	e, err := p.read(ctx, root)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	one := func(id, rest string, q url.Values) error {
		part := *e
		part.Static = true
		name, data, err := part.page(ctx, rest, q)
		if err != nil {
			return err
		}
		fmt.Fprintf(&body, "<article id=\"%s\">", template.HTMLEscapeString(id))
		if err := p.printer.print(&body, name, data); err != nil {
			return err
		}
		body.WriteString("</article>\n")
		return nil
	}
	if err := one("", "", nil); err != nil {
		return err
	}
	for _, id := range e.names() {
		if err := one("codon-"+string(id), "codon", url.Values{"id": {string(id)}}); err != nil {
			return err
		}
	}
	for _, rest := range []string{"gate", "checkpoints", "money", "events"} {
		if err := one(rest, rest, nil); err != nil {
			return err
		}
	}
	style, _, _ := Asset("page.css")
	sum := sha256.Sum256(style)
	_, err = fmt.Fprintf(out, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'">
<meta name="referrer" content="no-referrer">
<title>%s · hank</title>
<style>%s</style>
</head>
<body>
<main id="page">
%s</main>
</body>
</html>
`, base64.StdEncoding.EncodeToString(sum[:]), template.HTMLEscapeString(p.printer.text(e.Status.Name)), style, body.Bytes())
	return err
}

// names are the loops and codons of the plan, in its order, and those that ran and are not in
// it any more.
func (e *execution) names() (ids []state.CodonID) {
	add := func(id state.CodonID) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, n := range e.live.Tree().Nodes {
		if !n.IsLoop() {
			add(n.Codon)
			continue
		}
		add(n.Loop)
		for _, i := range n.Has {
			for _, c := range i.Has {
				add(c.Codon)
			}
		}
	}
	for _, a := range e.listed() {
		add(a.CodonID)
	}
	return ids
}
