"""The line that carries answers out, and its faces."""
