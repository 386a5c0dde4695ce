package config

import (
	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
)

// CheckSentinels reports which settings of all sentinels, at a pointer of a document, ask for
// what hank does not do. Set to false they ask for nothing.
func CheckSentinels(doc *jsonshape.Document, pointer string, out *diagnostic.Reporter) {
	settings := doc.At(pointer)
	if settings == nil || settings.Kind != '{' {
		return
	}
	for _, s := range []struct{ name, message, hint string }{
		{"enablePersistence", "hank keeps no conversation of a sentinel: each attempt begins without one", "set it to false, or remove it"},
		{"healthCheckGracePeriodMs", "hank checks no provider of a sentinel before a codon starts, and waits for none", "remove it"},
		{"waitForAllHealthChecks", "hank checks no provider of a sentinel before a codon starts, and waits for none", "remove it; failCodonIfNotLoaded keeps a codon from running without a key or an address"},
	} {
		if v := settings.Member(s.name); v != nil && !v.Bad && v.Kind != 'f' {
			at := pointer + "/" + s.name
			out.At(doc, doc.Find(at), at, "sentinel-setting", s.message, s.hint)
		}
	}
}
