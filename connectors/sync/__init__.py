"""The line that brings documents in: `run` is the whole of it on one page, one file a step."""
