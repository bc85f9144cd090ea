"""Linking: a person proves in one browser that a Slack account and a company account are both his, and says so.

Three legs, each bound to that browser: Sign in with Slack, the company's identity provider, and a page that names both
accounts. A link that is passed on links nothing, and nobody is known by an e-mail address.
"""
