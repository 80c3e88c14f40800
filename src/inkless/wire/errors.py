"""What the wire refuses."""

from inkless.core.errors import InklessError


class WireError(InklessError):
    """Bytes that are no valid message: whoever sent them can't be answered any further."""
