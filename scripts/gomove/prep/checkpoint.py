#!/usr/bin/env python3
"""Prepares package checkpoint for the split, in the working folder: the store
of objects (DB) apart from the scanner of workspaces (Scanner), which keeps the
stat cache; the memo of what a restore compared; methods of a Change that belong
to the restore as functions.  Every replacement must apply; else it says which."""
import glob, re, sys
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
def rx(n, pat, new):
    texts[n] = re.sub(pat, new, load(n))
C = 'checkpoint/'
scanner = {C + n for n in ('cachefile.go', 'estimate.go', 'known.go', 'stamp.go', 'snapshot.go')}
for n in sorted(glob.glob(C + '*.go')):
    if n.endswith('_test.go'): continue
    t = load(n)
    out = []
    for line in t.split('\n'):
        if not line.lstrip().startswith('//'):
            if n in scanner:
                line = line.replace('(s *Store)', '(s *Scanner)')
                line = re.sub(r'\bs\.(fs|dir|opts|sources|putObject|Has|CommitInfo|limitPending)\b', r's.db.\1', line)
            else:
                line = re.sub(r'\*Store\b', '*DB', line)
        out.append(line)
    texts[n] = '\n'.join(out)

# --- the cache goes to the scanner
s = C + 'store.go'
sub(s, '''	cacheMu   sync.Mutex // taken after mu, never before it
	cache     *statCache // what the objects in finished packs vouch for
	next      *statCache // the same with the pending pack
	cacheOf   string     // the workspace of cache
	cacheKept bool       // the file on disk is cache
	unkept    int        // files read since the file was written

	reading func(name string)                // tests: called before a file is read
	listing func(dir string) (more []string) // tests: called before a folder is listed; names that are listed too
}
''', '''	vouched Vouched // by the packs; never nil
}

// Vouched is what holds as long as the packs have what they have: the stat cache
// of whoever scans. A DB tells it what becomes of its packs.
type Vouched interface {
	// SettleCache is called when everything pending is durable; the DB is locked.
	SettleCache()
	// DropPending is called when everything pending is dropped; the DB is locked.
	DropPending()
	// KeepLargeCache is called after a Flush; the DB is not locked.
	KeepLargeCache()
	// KeepCache is called by Close.
	KeepCache() error
	// RewriteCache is called when packs were merged.
	RewriteCache() error
	// DropCache forgets everything, DistrustCache on disk too.
	DropCache()
	DistrustCache() error
}

// nothingVouched is for a DB that nobody scans into.
type nothingVouched struct{}

func (nothingVouched) SettleCache()         {}
func (nothingVouched) DropPending()         {}
func (nothingVouched) KeepLargeCache()      {}
func (nothingVouched) KeepCache() error     { return nil }
func (nothingVouched) RewriteCache() error  { return nil }
func (nothingVouched) DropCache()           {}
func (nothingVouched) DistrustCache() error { return nil }

// SetVouched says who is told what becomes of the packs.
func (s *DB) SetVouched(v Vouched) { s.vouched = v }

// WithPackNames calls f with the names of the packs, and of those that merged ones
// have replaced, while none comes or goes.
func (s *DB) WithPackNames(f func(packs, replaced []string)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f(packNames(s.packs), packNames(s.replaced))
}

// IsPending reports whether there is a pending pack.
func (s *DB) IsPending() bool {
	pending, _ := s.sources()
	return pending != nil
}
''')
sub(s, '''// Store is the git repository that holds the checkpoints of one execution. It
// is a bare''', '''// DB is the git repository that holds the checkpoints of one execution. It
// is a bare''')
sub(s, 'type Store struct {', 'type DB struct {')
rx(s, r'\bnewStore\b', 'newDB')
sub(s, '// Init makes a store.', '// initDB makes a store.')
sub(s, 'func Init(o Options)', 'func initDB(o Options)')
sub(s, '// Open opens a store. One', '// openDB opens a store. One')
sub(s, 'func Open(o Options)', 'func openDB(o Options)')
sub(s, 'return &Store{fs: o.FS, dir: o.Dir, opts: o}', 'return &DB{fs: o.FS, dir: o.Dir, opts: o, vouched: nothingVouched{}}')
sub(s, 's.keepCache()', 's.vouched.KeepCache()')
sub(s, 's.DropCache()', 's.vouched.DropCache()')
sub(C + 'salvage.go', 's.DropCache()', 's.vouched.DropCache()')
m = C + 'merge.go'
sub(m, 's.rewriteCache()', 's.vouched.RewriteCache()')
t = load(m); at = t.index('// rewriteCache names the present packs'); texts[m] = t[:at].rstrip() + '\n'
sub(m, '	"hank/internal/failpoint"\n	"hank/internal/vfs"\n', '	"hank/internal/failpoint"\n')
sub(C + 'collect.go', '''		s.DropCache()
		err = s.removeCache()
''', '''		err = s.vouched.DistrustCache()
''')
t = load(C + 'collect.go'); at = t.index('// removeCache deletes'); texts[C + 'collect.go'] = t[:at].rstrip() + '\n'
w = C + 'write.go'
sub(w, '''	s.cacheMu.Lock()
	worth := s.cache != nil && s.cache.worthKeeping(s.unkept)
	s.cacheMu.Unlock()
	if worth {
		// What cannot be kept is read again by the next process, and Close
		// says so.
		_ = s.keepCache()
	}
	return nil
''', '''	s.vouched.KeepLargeCache()
	return nil
''')
sub(w, '''	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.next = nil
}
''', '''	s.vouched.DropPending()
}
''')
sub(w, 's.settleCache()', 's.vouched.SettleCache()', 2)
f = C + 'cachefile.go'
sub(f, '''// cacheFor returns the stat cache for a workspace, from memory or from disk.
func (s *Scanner) cacheFor(w *Workspace) *statCache {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if s.next != nil && s.cacheOf == w.Path() {
		return s.next
	}
	if s.cache == nil || s.cacheOf != w.Path() {
		s.cache, s.next = readCache(s.db.fs, s.db.opts.CacheFile, s.cacheHeader(w.Path())), nil
		s.cacheOf, s.cacheKept, s.unkept = w.Path(), true, 0
	}
	return s.cache
}
''', '''// cacheFor returns the stat cache for a workspace, from memory or from disk.
func (s *Scanner) cacheFor(w *Workspace) (known *statCache) {
	s.db.WithPackNames(func(packs, _ []string) {
		s.cacheMu.Lock()
		defer s.cacheMu.Unlock()
		if s.next != nil && s.cacheOf == w.Path() {
			known = s.next
			return
		}
		if s.cache == nil || s.cacheOf != w.Path() {
			s.cache, s.next = readCache(s.db.fs, s.db.opts.CacheFile, s.cacheHeader(w.Path(), packs)), nil
			s.cacheOf, s.cacheKept, s.unkept = w.Path(), true, 0
		}
		known = s.cache
	})
	return known
}
''')
sub(f, '	pending, _ := s.db.sources()\n', '	pending := s.db.IsPending()\n')
sub(f, '	if pending == nil {\n', '	if !pending {\n')
sub(f, '// settleCache is called when everything pending is durable.\nfunc (s *Scanner) settleCache()', '// SettleCache is called when everything pending is durable.\nfunc (s *Scanner) SettleCache()')
sub(f, '''// cacheHeader is for who holds mu.
func (s *Scanner) cacheHeader(workspace string) cacheHeader {
	return cacheHeader{Workspace: workspace, Boot: s.db.opts.BootID, Packs: packNames(s.packs)}
}
''', '''func (s *Scanner) cacheHeader(workspace string, packs []string) cacheHeader {
	return cacheHeader{Workspace: workspace, Boot: s.db.opts.BootID, Packs: packs}
}
''')
sub(f, '''// keepCache writes the cache for the next process. It is a projection: it is
// not synced, and a crash in between costs one reading of all files.
func (s *Scanner) keepCache() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if''', '''// DropPending forgets what the pending pack vouched for.
func (s *Scanner) DropPending() {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	s.next = nil
}

// KeepLargeCache writes a cache that it would cost much to lose.
func (s *Scanner) KeepLargeCache() {
	s.cacheMu.Lock()
	worth := s.cache != nil && s.cache.worthKeeping(s.unkept)
	s.cacheMu.Unlock()
	if worth {
		// What cannot be kept is read again by the next process, and Close
		// says so.
		_ = s.KeepCache()
	}
}

// KeepCache writes the cache for the next process. It is a projection: it is
// not synced, and a crash in between costs one reading of all files.
func (s *Scanner) KeepCache() (err error) {
	s.db.WithPackNames(func(packs, _ []string) { err = s.keepCache(packs) })
	return err
}

func (s *Scanner) keepCache(packs []string) error {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if''')
sub(f, 's.cacheHeader(s.cacheOf)', 's.cacheHeader(s.cacheOf, packs)')
sub(f, '''// writeUnsynced replaces''', '''// RewriteCache names the present packs in the stat cache on disk, if there is
// one that the packs before them vouched for.
func (s *Scanner) RewriteCache() error {
	if s.db.opts.CacheFile == "" {
		return nil
	}
	s.cacheMu.Lock()
	loaded := s.cache != nil
	if _, err := s.db.fs.Lstat(s.db.opts.CacheFile); err == nil {
		s.cacheKept = false
	}
	s.cacheMu.Unlock()
	if loaded {
		return s.KeepCache()
	}
	data, err := vfs.ReadFile(s.db.fs, s.db.opts.CacheFile)
	if err != nil {
		return ignoreMissing(err)
	}
	c, h, err := decodeCache(data)
	if err != nil {
		return nil // it is of no use as it is
	}
	var now cacheHeader
	var known []string
	s.db.WithPackNames(func(packs, replaced []string) {
		now = s.cacheHeader(h.Workspace, packs)
		known = slices.Concat(packs, replaced)
	})
	if slices.ContainsFunc(h.Packs, func(name string) bool { return !slices.Contains(known, name) }) {
		return nil
	}
	now.Boot = h.Boot
	if data, err = c.encode(now); err != nil {
		return err
	}
	return writeUnsynced(s.db.fs, s.db.opts.CacheFile, data)
}

// removeCache deletes the stat cache on disk.
func (s *Scanner) removeCache() error {
	if s.db.opts.CacheFile == "" {
		return nil
	}
	return ignoreMissing(s.db.fs.Remove(s.db.opts.CacheFile))
}

// writeUnsynced replaces''')
sub(f, '	"path/filepath"\n', '	"path/filepath"\n	"slices"\n	"sync"\n')
sub(f, '''// readCache returns''', '''// Scanner makes checkpoints of workspaces in a DB, and keeps what it has found out
// about their files as long as the packs vouch for it.
type Scanner struct {
	db *DB

	cacheMu   sync.Mutex // taken after the DB's own, never before it
	cache     *statCache // what the objects in finished packs vouch for
	next      *statCache // the same with the pending pack
	cacheOf   string     // the workspace of cache
	cacheKept bool       // the file on disk is cache
	unkept    int        // files read since the file was written

	reading func(name string)                // tests: called before a file is read
	listing func(dir string) (more []string) // tests: called before a folder is listed; names that are listed too
}

// newScanner returns the one scanner of a DB.
func newScanner(db *DB) *Scanner {
	s := &Scanner{db: db}
	db.SetVouched(s)
	return s
}

// readCache returns''')
sub(C + 'estimate.go', 'newStore(Options{Dir: os.DevNull}).Estimate', 'newScanner(newDB(Options{Dir: os.DevNull})).Estimate')
u = C + 'scan_unix.go'
sub(u, '	s        *DB\n', '	s        *Scanner\n')
sub(u, 'func newScan(s *DB,', 'func newScan(s *Scanner,')
sub(u, 's.excludes()', 's.db.excludes()')
sub(u, 'newBase(c.s,', 'newBase(c.s.db,')
rx(u, r'\bw\.s\.putObject', 'w.s.db.putObject')
rx(C + 'scan_read_unix.go', r'\bw\.s\.(putObject|putStream)', r'w.s.db.\1')
sub(C + 'scan_other.go', 'newScan(*DB,', 'newScan(*Scanner,')
r = C + 'remote.go'
sub(r, 'transferStore{Store: s}', 'transferStore{DB: s}')
tr = C + 'transfer.go'
rx(tr, r'\bInit\(Options', 'initDB(Options'); rx(tr, r'\bOpen\(Options', 'openDB(Options')
for n in (r, tr):
    rx(n, r'(?<![\w.])Init\(', 'initDB('); rx(n, r'(?<![\w.])Open\(', 'openDB(')

# --- what a restore compared is a memo to the DB
h = C + 'held.go'
sub(h, '''	compared comparison       // the last one
}

// comparison''', '''	memo     any              // of who reads them
}

// comparison''')
sub(h, 'h.objects, h.compared = nil, comparison{}', 'h.objects, h.memo = nil, nil')
sub(h, '''// comparing returns''', '''// HoldsTrees reports whether trees are held in memory.
func (s *DB) HoldsTrees() bool { return s.held.list() != nil }

// Memo returns what Memorize was given since trees are held.
func (s *DB) Memo() any {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	return s.held.memo
}

// Memorize keeps a value as long as trees are held.
func (s *DB) Memorize(memo any) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	if s.held.wanted > 0 {
		s.held.memo = memo
	}
}

// treeMemory is a storage that holds trees.
type treeMemory interface {
	HoldsTrees() bool
	Memo() any
	Memorize(any)
}

// comparing returns''')
sub(h, '''	s, ours := st.(*DB)
	if !ours || s.held.list() == nil {
		return d.run(from, to)
	}
	s.held.mu.Lock()
	last := s.held.compared
	s.held.mu.Unlock()
	if last.from''', '''	s, ours := st.(treeMemory)
	if !ours || !s.HoldsTrees() {
		return d.run(from, to)
	}
	last, _ := s.Memo().(comparison)
	if last.from''')
sub(h, '''	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	if s.held.wanted > 0 {
		s.held.compared = comparison{from, to, changes}
	}
	return changes''', '''	s.Memorize(comparison{from, to, changes})
	return changes''')

# --- the facade
texts[C + 'checkpoint.go'] = '''package checkpoint

// Store holds the checkpoints of one execution: a DB that keeps their objects, and
// a Scanner that makes them of a workspace.
type Store struct {
	*DB
	*Scanner
}

// Init makes a store: see initDB.
func Init(o Options) (*Store, error) {
	db, err := initDB(o)
	if err != nil {
		return nil, err
	}
	return &Store{db, newScanner(db)}, nil
}

// Open opens a store: see openDB.
func Open(o Options) (*Store, error) {
	db, err := openDB(o)
	if err != nil {
		return nil, err
	}
	return &Store{db, newScanner(db)}, nil
}
'''
# --- tests
for n in sorted(glob.glob(C + '*_test.go')):
    rx(n, r'\bnewStore\(', 'newDB(')
    rx(n, r'store\.keepCache\(\)', 'store.KeepCache()')
    rx(n, r'store\.rewriteCache\(\)', 'store.RewriteCache()')
# Judge and Whole are methods of the facade: runtime has them in interfaces.
l = C + 'losses.go'
sub(l, '// Judge begins to judge the commits of a store.\nfunc (s *DB) Judge(ctx context.Context) *Judge {', '// newJudge begins to judge the commits of a store.\nfunc newJudge(ctx context.Context, s *DB) *Judge {')
rx(l, r'\bs\.Judge\(ctx\)', 'newJudge(ctx, s)'); rx(tr, r'\bs\.Judge\(ctx\)', 'newJudge(ctx, s)')
sub(l, '// Whole is Judge for a single commit.\nfunc (s *DB) Whole(ctx context.Context, sha SHA) (bool, error) { return newJudge(ctx, s).Whole(sha) }\n\n', '')
texts[C + 'checkpoint.go'] = texts[C + 'checkpoint.go'].replace('package checkpoint\n', 'package checkpoint\n\nimport "context"\n') + '''
// Judge begins to judge the commits of the store.
func (s *Store) Judge(ctx context.Context) *Judge { return newJudge(ctx, s.DB) }

// Whole is Judge for a single commit.
func (s *Store) Whole(ctx context.Context, sha SHA) (bool, error) { return s.Judge(ctx).Whole(sha) }
'''
# --- the list of faults
F = 'scripts/faults/faults.txt'
out, at = [], ''
for line in load(F).split('\n'):
    if line.startswith('== '): at = line.split()[2]
    if line[:1] in '-+' and line and at.startswith(C):
        if at in scanner:
            line = line.replace('(s *Store)', '(s *Scanner)')
            line = re.sub(r'\bs\.(fs|dir|opts|sources|putObject|Has|CommitInfo|limitPending)\b', r's.db.\1', line)
        else:
            line = re.sub(r'\*Store\b', '*DB', line)
    out.append(line)
texts[F] = '\n'.join(out)
sub('scripts/faults/main.go', '"-run", tests, pkg)', '"-run", tests)\n\tcmd.Args = append(cmd.Args, strings.Split(pkg, ",")...)')
sub('scripts/faults/main.go', 'a fault has a name, a file, a package and tests', 'a fault has a name, a file, packages and tests')
sub('scripts/faults/main.go', '// whose tests are to notice it', '// whose tests are to notice it; with commas between several')
z = C + 'fuzz_test.go' # it needs no more than the objects
rx(z, r'\*Store\b', '*DB'); rx(z, r'(?<![\w.])Init\(Options', 'initDB(Options'); rx(z, r'(?<![\w.])Open\(Options', 'openDB(Options')
if bad: sys.exit(1)
for n, t in texts.items(): open(n, 'w').write(t)
import subprocess
subprocess.run(['gofmt', '-w'] + [n for n in sorted(texts) if n.endswith('.go')], check=True)
