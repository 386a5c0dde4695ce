package agents

import (
	"cmp"
	"net/url"
	"os"
	"slices"
	"strings"

	"hank/internal/proc"
	"hank/plan"
	"hank/plan/config"
	"hank/recovery"
	"hank/runtime/breaker"
	"hank/runtime/harness"
)

// keys are the variables with the credentials of a provider, where they are more than
// NAME_API_KEY.
var keys = map[string][]string{
	"anthropic": {"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
	"openai":    {"CODEX_API_KEY"},
	"google":    {"GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"},
}

// places are the variables that say where an agent keeps its login.
var places = []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR"}

// keyOf is what the limits of a codon's provider are about, in the environment that its agent
// gets; ok is false for one that no model works for. Two keys that differ may be one account,
// whose runs then learn nothing from each other.
//
// The credential is that of all variables with a key of the provider. Without one it is the
// login of the agent, which is known by its place: what is in it is renewed again and again.
func keyOf(c *plan.Codon, in config.Settings, environ []string) (k breaker.Key, ok bool) {
	if !c.Model.Kind().UsesModel || !c.Model.Resolved() {
		return breaker.Key{}, false
	}
	if in.AnthropicBaseURL != "" {
		environ = append(slices.Clone(environ), "ANTHROPIC_BASE_URL="+in.AnthropicBaseURL)
	}
	env, provider := harness.NewEnviron(WithEnv(environ, c.Env)), c.Model.ProviderID
	name := strings.ToUpper(strings.ReplaceAll(provider, "-", "_"))
	base := env[name+"_BASE_URL"]
	if provider == "google" {
		base = cmp.Or(env["GOOGLE_GEMINI_BASE_URL"], base)
	}
	var secret []string
	for _, v := range append([]string{name + "_API_KEY"}, keys[provider]...) {
		if env[v] != "" {
			secret = append(secret, v+"="+env[v])
		}
	}
	if secret == nil {
		agent, _ := c.Model.Harness()
		secret = []string{"login of " + agent}
		for _, v := range places {
			secret = append(secret, v+"="+env[v])
		}
	}
	if u, err := url.Parse(base); err == nil && base != "" {
		if u.User != nil || u.RawQuery != "" { // a key may be in it
			secret = append(secret, base)
		}
		base = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}).String()
	} else if err != nil {
		secret, base = append(secret, base), "?"
	}
	return breaker.Key{Provider: provider, BaseURL: base, Credential: breaker.Digest(strings.Join(secret, "\x00"))}, true
}

// Account is what an attempt at a codon shares with the other runs of the user; nil: nothing,
// there is no provider. past lets it ask its provider whatever they have met.
func Account(c *plan.Codon, in config.Settings, environ []string, who breaker.Holder, past bool) *breaker.Account {
	k, ok := keyOf(c, in, environ)
	if !ok {
		return nil
	}
	who.Process, _ = proc.Self() // without it the probe of a run that is gone ends by its time
	return &breaker.Account{Store: breaker.User(), Key: k, Who: who, Past: past}
}

// Breakers are those that are open and concern the codons that an execution has still to
// run, as they would run with these settings and this environment.
func Breakers(v *recovery.View, in config.Layers) (all []breaker.View) {
	open := breaker.User().Open()
	if len(open) == 0 { // as it nearly always is
		return nil
	}
	whole, err := recovery.Read(v.Layout.Root)
	if err != nil {
		return nil
	}
	frozen, _ := frozenOf(whole) // nil: the keys that codons set are not known
	rest, err := ToRun(whole.State, frozen)
	if err != nil {
		return nil
	}
	var concern []breaker.Key
	for _, e := range rest {
		if k, ok := keyOf(e.Codon, in.Merge(nil), Overlay(os.Environ())); ok && !slices.Contains(concern, k) {
			concern = append(concern, k)
		}
	}
	for _, b := range open {
		if slices.Contains(concern, b.Key) {
			all = append(all, breaker.ViewOf(b))
		}
	}
	return all
}
