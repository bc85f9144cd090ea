"""What a person or a script asked for in a way that can't be carried out; the command line ends with status 2.

    WrongUse          the message is one sentence that says what would be right
      WrongSettings   a setting (bot.settings)
      Unusable        a request or an argument
      WrongGolden     a golden set or a saved run (bot.evaluating.golden)

What fails outside is connectors.errors' family.
"""

from __future__ import annotations


class WrongUse(Exception):
    """It can't be done as it was asked for."""


class Unusable(WrongUse):
    """A request or an argument that can't be used as it was written."""
