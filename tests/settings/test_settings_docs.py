"""docs/configs.md is what the declarations say."""

from pathlib import Path

from inkless.settings.markdown import markdown
from inkless.settings.model import DECLARED

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_in_step() -> None:
    assert (DOCS / "configs.md").read_text() == markdown(), "run make docs"


def test_every_setting_says_what_it_is_for() -> None:
    for setting in DECLARED.values():
        assert setting.doc.endswith("."), setting.name
        assert setting.default is not None or setting.default_text, setting.name
