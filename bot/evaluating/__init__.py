"""Golden sets, metrics and reports: how good the answers are, in numbers."""
