"""`python -m inkless.settings` writes docs/configs.md to standard output."""

import sys

from inkless.settings.markdown import markdown

sys.stdout.write(markdown())
