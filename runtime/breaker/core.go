package breaker

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"hank/internal/proc"
)

// Key is what a breaker is about.
type Key struct {
	Provider   string `json:"provider"`
	BaseURL    string `json:"baseUrl,omitempty"` // empty: the provider's own
	Credential string `json:"credential"`        // a digest, see Digest
}

// Digest stands for a credential in a Key. Nobody can find the credential by it, unless it
// is one that can be guessed.
func Digest(credential string) string {
	sum := sha256.Sum256([]byte("hank breaker\x00" + credential))
	return hex.EncodeToString(sum[:8])
}

// file is the name of the key's file.
func (k Key) file() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{k.Provider, k.BaseURL, k.Credential}, "\x00")))
	return hex.EncodeToString(sum[:16]) + ".json"
}

// String names the provider, and the address where that is not the provider's own.
func (k Key) String() string {
	if k.BaseURL == "" {
		return k.Provider
	}
	return k.Provider + " (" + k.BaseURL + ")"
}

// Holder is an attempt at a codon.
type Holder struct {
	Execution string        `json:"execution"`
	Run       string        `json:"run"`
	Codon     string        `json:"codon"`
	Attempt   string        `json:"attempt"` // names it among all attempts
	Process   proc.Identity `json:"process"` // of its run
}

// Breaker is what is known about a key. The zero value is closed.
type Breaker struct {
	Key
	Class    string    `json:"class"`    // of the last failure: rate_limit, usage_limit, overloaded
	Failures int       `json:"failures"` // that came one after the other
	Last     time.Time `json:"last"`     // of them
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"` // zero: it is closed
	Opened   int       `json:"opened"`         // how often, one after the other
	By       Holder    `json:"by"`             // who saw the last failure
	Probe    *Probe    `json:"probe,omitempty"`
}

// Probe is the attempt that tries whether the provider answers again.
type Probe struct {
	By      Holder    `json:"by"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
}

const (
	// enough failures open a breaker where the provider has not said until when it refuses:
	// one or two may be chance. A usage limit and a stated end are none.
	enough = 3
	// apart are failures so far from each other that they have nothing in common.
	apart = 15 * time.Minute
	// probeTime is how long a probe may take until the model first answers.
	probeTime = 10 * time.Minute
	// asks is how long it takes until somebody who waits for a probe looks again.
	asks = 30 * time.Second
	// longest is how long a breaker can be open: longer than any window that is known.
	longest = 31 * 24 * time.Hour
	// forgotten is how long after its end a breaker is of no interest any more.
	forgotten = 24 * time.Hour
	// skew is how much a clock may be set back without anybody noticing.
	skew = time.Minute
)

// counts reports whether failures of a class count.
func counts(class string) bool {
	return class == "rate_limit" || class == "usage_limit" || class == "overloaded"
}

// isOpen reports whether the provider is not to be asked, or only by a probe. A breaker that
// nobody has touched for a day after its end is closed, and so is one from the future: the
// clock was set back, and nobody knows when it would end.
func (b Breaker) isOpen(now time.Time) bool {
	return !b.Until.IsZero() && now.Before(b.Until.Add(forgotten)) && now.After(b.Since.Add(-skew))
}

// answer is what a breaker says to an attempt that wants to ask the provider.
type answer struct {
	Refused bool
	Until   time.Time // when it is worth asking the breaker again
	Probe   bool      // the attempt is let through as the probe
	Probing *Holder   // who tries already; nil: nobody does
}

// admit decides about an attempt. dead reports whether a process is known to be gone.
func (b Breaker) admit(now time.Time, who Holder, dead func(proc.Identity) bool) (Breaker, answer) {
	switch {
	case !b.isOpen(now):
		if !b.Until.IsZero() {
			b = Breaker{Key: b.Key}
		}
		return b, answer{}
	case now.Before(b.Until):
		return b, answer{Refused: true, Until: b.Until}
	}
	if p := b.Probe; p != nil && p.By.Attempt != who.Attempt && now.Before(p.Expires) && now.After(p.Since.Add(-skew)) && !dead(p.By.Process) {
		until := p.Expires
		if soon := now.Add(asks); soon.Before(until) {
			until = soon
		}
		return b, answer{Refused: true, Until: until, Probing: &p.By}
	}
	b.Probe = &Probe{By: who, Since: now, Expires: now.Add(probeTime)}
	return b, answer{Probe: true}
}

// failed takes in that an attempt met a limit of a class. ends says when the limit ends, and
// whether the provider said so; n is how often the same one was estimated before.
func (b Breaker) failed(now time.Time, who Holder, class string, ends func(n int) (time.Time, bool)) Breaker {
	wasOpen := b.isOpen(now)
	if !wasOpen && (now.Sub(b.Last) > apart || now.Before(b.Last.Add(-skew)) || !b.Until.IsZero()) {
		b = Breaker{Key: b.Key}
	}
	if b.Probe != nil && b.Probe.By.Attempt == who.Attempt {
		b.Probe = nil
	}
	b.Class, b.By, b.Last = class, who, now
	b.Failures++
	until, known := ends(b.Opened)
	if !wasOpen && !known && class != "usage_limit" && b.Failures < enough {
		return b
	}
	if last := now.Add(longest); until.After(last) {
		until = last
	}
	if !known && until.Before(b.Until) { // what is known, or was waited for longer, stays
		until = b.Until
	}
	b.Since, b.Until = now, until
	b.Opened++
	return b
}

// answered takes in that the model has answered an attempt that had asked since entered. An
// attempt from before the limit says nothing about it.
func (b Breaker) answered(now, entered time.Time) Breaker {
	if b.isOpen(now) && entered.Before(b.Since) {
		return b
	}
	return Breaker{Key: b.Key}
}

// left takes in that an attempt has ended without it being known whether the provider
// answers.
func (b Breaker) left(who Holder) Breaker {
	if b.Probe != nil && b.Probe.By.Attempt == who.Attempt {
		b.Probe = nil
	}
	return b
}

// isEmpty reports whether there is nothing to remember.
func (b Breaker) isEmpty() bool { return b.Failures == 0 && b.Until.IsZero() && b.Probe == nil }
