package trigger

import "testing"

func TestAnExpressionIsOneOfJavaScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expression, text string
		want             bool
	}{
		{`^\u2713 \d+$`, "✓ 12", true},
		{`[\u4e00-\u9FFF]`, "中", true},
		{`\ud83d\ude00`, "😀", true},
		{`\\u2713`, `\u2713`, true},
		{`\\u2713`, "✓", false},
		{`a\/b`, "a/b", true},
		{`(?<name>a)`, "a", true},
		{`ä\u00e4`, "ää", true},
	} {
		r, err := Expression(c.expression)
		if err != nil || r.MatchString(c.text) != c.want {
			t.Errorf("%s in %q: want %t, error %v", c.expression, c.text, c.want, err)
		}
	}
	for _, wrong := range []string{`(`, `\`, `\u27`, `\u`, `\u27x3`, `\u+123`, `^(?!ok).*`, `(?<=a)b`, `(a)\1`} {
		if _, err := Expression(wrong); err == nil {
			t.Errorf("%s: want an error", wrong)
		}
	}
}
