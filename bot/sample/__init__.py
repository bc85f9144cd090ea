"""The sample tenant: a made-up company whose documents, people and questions `footnote demo` runs on.

`documents/` is a files source as any other. Nothing in the product knows this folder but the demo and the tests.
"""

from pathlib import Path

DOCUMENTS = Path(__file__).parent / "documents"
QUESTIONS = Path(__file__).parent / "questions.toml"
GOLDEN = Path(__file__).parent / "golden.jsonl"
