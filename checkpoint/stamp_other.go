//go:build !unix

package checkpoint

func (s *Store) youngest(*Workspace) (int64, error) {
	return s.opts.Now().Add(-clockTick).UnixNano(), nil
}
