package claude

import (
	"strings"
	"testing"

	"hank/runtime/harness"
)

// TestOnlyAKeyOrAModelIsRefused: waiting heals every other trouble of a provider.
func TestOnlyAKeyOrAModelIsRefused(t *testing.T) {
	t.Parallel()
	req := harness.Request{Model: "claude-x", Environ: []string{"ANTHROPIC_BASE_URL=https://api.example.com:8443/v1", "ANTHROPIC_API_KEY=k"}}
	for event, want := range map[string]string{
		`"error_status":401,"error":"authentication_failed"`: "api.example.com:8443 refuses the key or the login: authentication_failed (HTTP 401); set ANTHROPIC_API_KEY to one that is accepted, or unset it, start claude once and use /login",
		`"error_status":403,"error":"authentication_failed"`: "api.example.com:8443 refuses the key or the login: authentication_failed (HTTP 403); set ANTHROPIC_API_KEY to one that is accepted, or unset it, start claude once and use /login",
		`"error_status":403,"error":"unknown"`:               "api.example.com:8443 refuses the key or the login: unknown (HTTP 403); set ANTHROPIC_API_KEY to one that is accepted, or unset it, start claude once and use /login",
		`"error_status":404,"error":"model_not_found"`:       "api.example.com:8443 does not have the model claude-x: model_not_found (HTTP 404)",
		`"error_status":400,"error":"invalid_request"`:       "",
		`"error_status":409,"error":"unknown"`:               "",
		`"error_status":413,"error":"request_too_large"`:     "",
		`"error_status":429,"error":"rate_limit"`:            "",
		`"error_status":402,"error":"billing_error"`:         "",
		`"error_status":408,"error":"unknown"`:               "",
		`"error_status":500,"error":"server_error"`:          "",
		`"error_status":529,"error":"overloaded"`:            "",
		`"error_status":null,"error":"unknown"`:              "",
	} {
		line := `{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":500,` + event + `}`
		seen := Harness{}.Reader(req).Line([]byte(line))
		retry := seen[0].(harness.Retrying)
		if got := retry.Refused; (got != nil) != (want != "") || got != nil && got.Message != want {
			t.Errorf("%s: %+v, want %q", event, got, want)
		}
		if strings.Contains(event, "null") && retry.Why != "no connection to api.example.com:8443" {
			t.Errorf("%s: %q", event, retry.Why)
		}
	}
	for env, want := range map[string]string{"": "api.anthropic.com", "ANTHROPIC_BASE_URL=http://[::1]:80": "[::1]:80", "CLAUDE_CODE_USE_BEDROCK=1": "its provider", "ANTHROPIC_BASE_URL=%": "api.anthropic.com"} {
		if got := provider(harness.Request{Environ: []string{env}}); got != want {
			t.Errorf("%q: %q, want %q", env, got, want)
		}
	}
	for env, want := range map[string]string{"": "start claude once and use /login, or set ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK=1": "renew the credentials of the cloud provider that CLAUDE_CODE_USE_BEDROCK names"} {
		if got := remedy(harness.Request{Environ: []string{env}}); got != want {
			t.Errorf("%q: %q, want %q", env, got, want)
		}
	}
	if got := provider(harness.Request{Environ: []string{"ANTHROPIC_BASE_URL=http://a"}, Env: map[string]string{"ANTHROPIC_BASE_URL": "http://b"}}); got != "b" {
		t.Errorf("the codon's own environment: %q", got)
	}
}
