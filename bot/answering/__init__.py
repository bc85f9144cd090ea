"""Question to delivered answer: `ask` is the whole of it on one page, one file a step."""
