"""Bytes to structure. Formats are read in a process of its own, with limits and without a network.

`SandboxedParser` is the door; it never opens a document itself. `worker` runs in the child and knows the formats, one
module each. Nothing in here fetches anything, follows a relation outward, or runs what a document contains.
"""

from connectors.sync.parse.limits import Limits
from connectors.sync.parse.sandbox import SandboxedParser, find_tesseract

__all__ = ["Limits", "SandboxedParser", "find_tesseract"]
