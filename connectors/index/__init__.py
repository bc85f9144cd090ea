"""One file an index; all satisfy one conformance suite."""
