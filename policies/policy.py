"""The configured policy: every check, in order, and the digest of it all that verdicts and traces carry."""
