package secret

import (
	"encoding/json"
	"strings"
	"testing"
)

// Planted keys are put together here, so that no scanner takes this file for a
// leak.
func join(parts ...string) string { return strings.Join(parts, "") }

var (
	letters = "abCD12efGH34ijKL56mnOP78qrST90uvWX12yzAB34"
	pem     = join("-----BEGIN RSA ", "PRIVATE KEY-----\n", strings.Repeat(letters+letters[:22]+"\n", 12), "-----END RSA ", "PRIVATE KEY-----")
)

var keys = map[string]string{
	"Anthropic":     join("sk-", "ant-api03-", letters),
	"OpenAI":        join("sk-", "proj-", letters),
	"old OpenAI":    join("sk-", letters),
	"Google":        join("AI", "za", letters[:35]),
	"Google OAuth":  join("ya", "29.", letters),
	"GitHub":        join("gh", "p_", letters[:36]),
	"GitHub fine":   join("github", "_pat_", letters),
	"GitLab":        join("gl", "pat-", letters[:20]),
	"AWS id":        join("AK", "IA", "ABCDEFGHIJKLMNOP"),
	"Slack":         join("xo", "xb-", "1234567890-", letters),
	"Stripe":        join("sk", "_live_", letters),
	"npm":           join("np", "m_", letters[:36]),
	"Hugging Face":  join("h", "f_", letters[:34]),
	"JSON token":    join("ey", "J", letters[:20], ".ey", "J", letters[:20], ".", letters),
	"a private key": pem,
}

func TestKnownShapesAreMaskedWhereverTheyStand(t *testing.T) {
	t.Parallel()
	for name, key := range keys {
		for _, around := range []string{"%", "error: %", "API_KEY=%", "401 for key '%' (see docs)", "x\n%\ny", "[%]", "%,%", "Authorization: Bearer %."} {
			text := strings.ReplaceAll(around, "%", key)
			got := Text(text)
			if strings.Contains(got, key) || !strings.Contains(got, Mask) {
				t.Errorf("%s in %q: %q", name, around, got)
			}
			if again := Text(got); again != got {
				t.Errorf("%s in %q: masked twice it is %q, was %q", name, around, again, got)
			}
		}
	}
	for _, text := range []string{
		join("aws_secret_access_key = ", letters[:40]), join(`{"password": "`, letters[:12], `"}`), join("MY_TOKEN=", letters[:12]),
		join("https://me:", letters[:12], "@example.com/x"), join("Authorization: Basic ", letters[:24]),
	} {
		if got := Text(text); strings.Contains(got, letters[:12]) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// The shortest secret of all is one, and nothing that is shorter.
func TestTheShortestSecretIsMasked(t *testing.T) {
	t.Parallel()
	if got := Text("a://:b@"); got != "a://:"+Mask+"@" || least != len("a://:b@") {
		t.Errorf("%q", got)
	}
	for _, s := range shapes {
		for text := range map[string]bool{"a://:b": true, "sk-abc": true, "key=ab": true, "eyJ.eyJ"[:6]: true} {
			if s.hinted(text) && s.mask(text) != text {
				t.Errorf("%q is masked as %q", text, s.mask(text))
			}
		}
	}
}

// Of a key block that was cut at either end nothing is left either.
func TestACutPrivateKeyIsMasked(t *testing.T) {
	t.Parallel()
	for cut := 20; cut < len(pem)-20; cut += 37 {
		for _, part := range []string{pem[:cut], pem[cut:]} {
			if got := Text(part); strings.Contains(part, "PRIVATE KEY-----") && strings.Contains(got, letters[:24]) {
				t.Errorf("of %q is left %q", part, got)
			}
		}
	}
}

// What looks like a key and is none stays readable.
func TestPlainTextStays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "the task-based tokenizer", "sk-learn-is-a-library-of-many-words", "max_tokens: 200000", "input_tokens=123456789", "no ANTHROPIC_API_KEY is set",
		"https://example.com:8080/path@2", "git@github.com:me/repo.git", "checkpoint 301ae997a650dd1a2f3b4c5d6e7f8a9b0c1d2e3f", "basic understanding-of-things",
		"the password: incorrect", "secret: none-given-here", "keyed by sha256:0123456789abcdef", "Bearer authentication-is-needed", "ghp_short", "AKIA is a prefix",
		"/tmp/TestAScriptRunsInItsWorkspaceWithItsVariables3572559199/001",
		strings.Repeat("/home/somebody/Projects/TheLongNameOfAProject/folder/file12/of/it\n", 3),
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"set AWS credentials: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestValuesOfTheEnvironmentAreMaskedWhateverTheirShape(t *testing.T) {
	t.Parallel()
	var v Values
	v.Add([]string{"MY_TOKEN=plain0word", "MY_TOKEN_2=plain0word-and-more", "HOME=/root/plain", "KEY_FILE=/etc/key1234", "SECRET_MODE=release", "AUTH=1", "PATH=abc123456789"})
	for text, want := range map[string]string{
		"it said plain0word":            "it said ***",
		"it said plain0word-and-more !": "it said *** !",
		"/etc/key1234 in release":       "/etc/key1234 in release",
		"abc123456789":                  "abc123456789",
	} {
		if got := v.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestValuesOfEightCharactersAreMasked(t *testing.T) {
	t.Parallel()
	var v Values
	v.Add([]string{"A_TOKEN=abcde678", "B_TOKEN=vwxyz67", "C_TOKEN=lettersonlyword", "D_TOKEN=lettersonlywords"})
	const text = "abcde678 vwxyz67 lettersonlyword lettersonlywords"
	if got, want := v.Text(text), "*** vwxyz67 lettersonlyword ***"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An output is masked line by line, so each line of a value of several lines is
// a secret by itself; what every such value has is none.
func TestEachLineOfAValueOfSeveralLinesIsMasked(t *testing.T) {
	t.Parallel()
	var v Values
	v.Add([]string{
		"SVC_KEY={\"type\":\"svc\",\n  \"pk\":\"abcDEF123456secretline\",\r\n\"uri\": \"https://example.com/v1\",\n\"x\":1}",
		"CERT_KEY=-----BEGIN CERTIFICATE-----\nMIIB" + letters + "\nshort12\n-----END CERTIFICATE-----\n",
		"NOT_NAMED=first 12345678\nsecond 12345678",
		"ONE_TOKEN=ends0with1newline\n",
	})
	for text, want := range map[string]string{
		`"pk":"abcDEF123456secretline",`:           "***",
		"  \"pk\":\"abcDEF123456secretline\",\r\n": "  ***\r\n",
		"it is abcDEF123456secretline":             "it is ***",
		"MIIB" + letters:                           "***",
		`{"type":"svc",`:                           `{"type":"svc",`,
		`"x":1}`:                                   `"x":1}`,
		"-----BEGIN CERTIFICATE-----":              "-----BEGIN CERTIFICATE-----",
		"see https://example.com/v1, short12":      "see https://example.com/v1, short12",
		"first 12345678":                           "first 12345678",
		"it ends0with1newline\n.":                  "it ***.",
	} {
		if got := v.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestJSONIsMaskedValueByValue(t *testing.T) {
	t.Parallel()
	for name, key := range keys {
		text, err := json.Marshal(map[string]any{"a": []any{"x " + key, 1, nil, true}, "b": map[string]any{"c": key}, "plain": "ümläut <&>"})
		if err != nil {
			t.Fatal(err)
		}
		got := JSON(text, Text)
		var back map[string]any
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v in %s", name, err, got)
		}
		if strings.Contains(string(got), letters[:12]) || back["plain"] != "ümläut <&>" || back["a"].([]any)[1] != 1.0 {
			t.Errorf("%s: %s", name, got)
		}
	}
	if text := []byte(`{"a": "b", "a": [ 1 ]}`); string(JSON(text, Text)) != string(text) {
		t.Error("nothing to mask, and it was changed")
	}
	if got := JSON([]byte(`{"a": "`+keys["OpenAI"]), Text); strings.Contains(string(got), letters[:12]) {
		t.Errorf("what is not JSON: %s", got)
	}
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("the tokens of the key are in no secret place; 12 of 34 files were read\n", 10000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Text(text)
	}
}
