"""Every door to the outside, and the line that brings documents in.

Shapes of the doors are in `ports`, what crosses them in `records`, what can go wrong in `errors`. Imports `policies`,
never `bot`.
"""
