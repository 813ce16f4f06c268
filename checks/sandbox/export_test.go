package sandbox

// WithoutUserNamespaces returns the same sandbox as it is on a host where root may not make user namespaces.
func WithoutUserNamespaces(s *Sandbox) *Sandbox {
	return &Sandbox{opt: s.opt, level: s.level, caps: s.caps}
}
