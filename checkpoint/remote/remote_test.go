package remote

import (
	"errors"
	"strings"
	"testing"
)

func TestAddressesAreShownWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/some/folder":                              "/some/folder",
		"git@example.com:me/x.git":                  "git@example.com:me/x.git",
		"ssh://git@example.com/x.git":               "ssh://git@example.com/x.git",
		"ssh://me:hunter2@example.com/x.git":        "ssh://me@example.com/x.git",
		"https://example.com/x.git":                 "https://example.com/x.git",
		"https://me:hunter2@example.com/x.git":      "https://example.com/x.git",
		"https://hunter2@example.com/x.git":         "https://example.com/x.git",
		"https://me:hun%zzter2@example.com/x.git":   "https://example.com/x.git",
		"https://example.com/x.git?token=hunter2":   "https://example.com/x.git",
		"https://me:hunter2@h@example.com/x.git":    "https://example.com/x.git",
		"https://example.com/x@y.git":               "https://example.com/x@y.git",
		"http://me:hunter2@127.0.0.1:1/x.git?a=b@c": "http://127.0.0.1:1/x.git",
	} {
		if got := WithoutSecrets(address); got != want {
			t.Errorf("%s is shown as %s", address, got)
		}
		err := discreet(address, errors.New(`Get "`+address+`": no; hunter2`))
		if strings.Contains(address, "@") && strings.Contains(address, "://") && !strings.ContainsAny(address, "?%") && strings.Count(address, "@") == 1 && !strings.HasPrefix(address, "ssh") && strings.Contains(err.Error(), "hunter2") && strings.Contains(address, "hunter2") {
			t.Errorf("an error says %v", err)
		}
	}
}
