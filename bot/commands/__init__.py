"""The commands of `footnote`, one file a group. Modules here import nothing heavy: `--help` is to be instant."""
