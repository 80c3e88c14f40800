"""Every setting of a broker, declared once with its type, default and doc line; nothing is opened here."""

from inkless.settings.listeners import Listener
from inkless.settings.model import Flush, Settings
from inkless.settings.sources import load
from inkless.settings.urls import url_path

__all__ = ["Flush", "Listener", "Settings", "load", "url_path"]
