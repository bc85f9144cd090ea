"""Footnote in Slack: the edge where requests come in, who asks and who listens, the desk where answers are made, and
what they look like. Slack itself is reached through the port `Chat`."""
