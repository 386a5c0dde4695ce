package provider

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"hank/plan/model"
)

// service is what is known of a provider.
type service struct {
	base   string // of its Chat Completions API
	key    string // the variable with its key; empty: NAME_API_KEY
	schema bool   // it keeps its models to a JSON Schema
	// suffix leads from the address in its variable, which is that of another API of it, to
	// this one.
	variable, suffix string
}

// services are the providers whose address is known. Any other one has to be named by
// NAME_BASE_URL.
var services = map[string]service{
	"anthropic":  {base: "https://api.anthropic.com/v1", suffix: "/v1"},
	"openai":     {base: "https://api.openai.com/v1", schema: true},
	"google":     {base: "https://generativelanguage.googleapis.com/v1beta/openai", key: "GEMINI_API_KEY", schema: true, variable: "GOOGLE_GEMINI_BASE_URL", suffix: "/v1beta/openai"},
	"openrouter": {base: "https://openrouter.ai/api/v1", schema: true},
	"zai":        {base: "https://api.z.ai/api/paas/v4"},
	"deepseek":   {base: "https://api.deepseek.com/v1"},
	"groq":       {base: "https://api.groq.com/openai/v1"},
	"mistral":    {base: "https://api.mistral.ai/v1", schema: true},
	"moonshotai": {base: "https://api.moonshot.ai/v1", key: "MOONSHOT_API_KEY"},
	"xai":        {base: "https://api.x.ai/v1", schema: true},
}

// Endpoint is where a model is asked.
type Endpoint struct {
	Provider string
	Model    string
	Base     string // address of the API
	Key      string // empty: none is sent
	Schema   bool   // it takes a JSON Schema for the answer
}

// MissingError says what a model lacks to be asked.
type MissingError struct {
	Model string
	Need  string
}

func (e *MissingError) Error() string { return fmt.Sprintf("model %s: %s", e.Model, e.Need) }

// EndpointOf finds where a model is asked, in an environment. The address is that of the
// variable NAME_BASE_URL, else the provider's; the key that of NAME_API_KEY. A server on
// this machine needs no key. The error is a *MissingError.
func EndpointOf(ref model.Ref, environ []string) (Endpoint, error) {
	env := map[string]string{}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	name := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(ref.ProviderID))
	s, known := services[ref.ProviderID]
	if s.key == "" {
		s.key = name + "_API_KEY"
	}
	if s.variable == "" {
		s.variable = name + "_BASE_URL"
	}
	e := Endpoint{Provider: ref.ProviderID, Model: ref.ModelID, Base: s.base, Key: env[s.key], Schema: s.schema || !known}
	if address := strings.TrimRight(strings.TrimSpace(env[s.variable]), "/"); address != "" {
		if e.Base = address; !strings.HasSuffix(address, s.suffix) {
			e.Base += s.suffix
		}
	}
	missing := func(format string, args ...any) (Endpoint, error) {
		return Endpoint{}, &MissingError{ref.String(), fmt.Sprintf(format, args...)}
	}
	if e.Base == "" {
		return missing("the address of provider %s is not known; set %s to that of its Chat Completions API", ref.ProviderID, s.variable)
	}
	u, err := url.Parse(e.Base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return missing("%s is no address of the form https://HOST/PATH", s.variable)
	}
	if e.Key == "" && !isLocal(u.Hostname()) {
		return missing("no key is set; set %s, or HANKWEAVE_SENTINEL_%s for sentinels alone", s.key, s.key)
	}
	return e, nil
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
