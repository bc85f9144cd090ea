"""One file a system that owns documents."""
