"""The sample tenant: a made-up company whose documents, people and questions `footnote demo` runs on."""
