#!/usr/bin/env python3
"""Prepares package recovery for the split: who holds a folder is asked of the
lock, not of a View."""
import re, subprocess, sys
bad = 0
texts = {}
def load(n):
    if n not in texts: texts[n] = open(n).read()
    return texts[n]
def sub(n, old, new, count=1):
    global bad
    t = load(n)
    if t.count(old) != count:
        bad += 1; print(f"{n}: {t.count(old)} times, not {count}: {old!r}"); return
    texts[n] = t.replace(old, new)
R = 'recovery/'
v = load(R + 'view.go')
m = re.search(r'((?://[^\n]*\n)*)func \(v \*View\) held\(\) bool \{\n.*?\n\}\n', v, re.S)
if not m: sys.exit('view.go has no held')
body = m.group(0).replace('func (v *View) held() bool', 'func isHeld(l Layout) bool').replace('v.Layout', 'l').replace('// held ', '// isHeld ')
texts[R + 'view.go'] = v.replace(m.group(0), '').replace('v.held()', 'isHeld(v.Layout)')
texts[R + 'surround.go'] = load(R + 'surround.go').replace('if v := (&View{Layout: l}); v.held() {', 'if isHeld(l) {')
texts[R + 'surround.go'] += '\n' + body
if 'hank/internal/flock"' not in texts[R + 'surround.go']:
    sub(R + 'surround.go', '	"hank/internal/registry"\n', '	"hank/internal/flock"\n	"hank/internal/registry"\n')
for imp, use in (('"hank/internal/proc"', 'proc.'),):
    if use in texts[R + 'surround.go'] and imp not in texts[R + 'surround.go']:
        sub(R + 'surround.go', '	"hank/internal/registry"\n', '	' + imp + '\n	"hank/internal/registry"\n')
for imp in ('flock', 'proc'):
    if not re.search(r'\b' + imp + r'\.', texts[R + 'view.go']):
        texts[R + 'view.go'] = texts[R + 'view.go'].replace('\t"hank/internal/' + imp + '"\n', '')
texts['docs/durability.md'] = load('docs/durability.md').replace('recovery/view.go:held`', 'recovery/surround.go:isHeld`')
if bad: sys.exit(1)
for n, t in texts.items(): open(n, 'w').write(t)
subprocess.run(['gofmt', '-w'] + [n for n in texts if n.endswith('.go')], check=True)
