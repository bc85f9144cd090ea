"""Confluence, Cloud and Data Center: its pages with the exact read permission of each, and how both change."""
