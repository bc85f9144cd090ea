"""Who may read what, and what may be said.

Pure: the standard library only; no I/O, no clock, no await, no log. Every verdict comes from here, and unknown,
stale, empty and broken all mean *no*.
"""
