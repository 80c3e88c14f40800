"""A secret is never shown: not in a listing, not in repr, not in the message about a wrong value."""

import traceback

import pytest

from inkless.core.errors import SettingError
from inkless.settings import Settings, kinds, load
from inkless.settings.setting import Setting
from inkless.settings.sources import Given, _parse
from inkless.settings.urls import hide_credentials


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("file:///a/b", "file:///a/b"),
        ("memory:", "memory:"),
        ("postgresql://me:pa:ss@db:5432/x", "postgresql://me:[hidden]@db:5432/x"),
        ("postgresql://me:p/a@s#s@db/x", "postgresql://me:[hidden]@db/x"),
        ("s3://b/p?region=x&secret_access_key=abc&z=1", "s3://b/p?region=x&secret_access_key=[hidden]&z=1"),
        ("s3://b?Session_Token=abc", "s3://b?Session_Token=[hidden]"),
    ],
)
def test_credentials_in_urls(url: str, shown: str) -> None:
    assert hide_credentials(url) == shown


def test_a_password_in_a_url_is_in_no_listing() -> None:
    url = "postgresql://me:hunter2@db/x"
    settings = Settings(control_plane_given=url, explicit=frozenset({"inkless.control.plane"}))
    assert repr(settings) == "Settings(inkless.control.plane=postgresql://me:[hidden]@db/x)"
    assert "hunter2" not in str([(row.value, row.explicit) for row in settings.describe()])


def test_a_password_in_a_wrong_url_is_not_in_the_message() -> None:
    with pytest.raises(SettingError) as caught:
        load(None, {}, ["inkless.control.plane=postgresql://me:hunter2@db/x"])
    assert "inkless.control.plane=postgresql://me:[hidden]@db/x (--set)" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_secret_setting_is_hidden() -> None:
    secret = Setting("a.secret", kinds.whole(0), None, "A secret.", None, (), secret=True)
    assert secret.show("hunter2") == "[hidden]"
    assert secret.show(None) == ""
    with pytest.raises(SettingError) as caught:
        _parse(secret, Given("a.secret", "hunter2", "--set"))
    assert str(caught.value) == "a.secret=[hidden] (--set): expected a whole number from 0 to 2147483647"
    assert caught.value.__suppress_context__
    assert "hunter2" not in "".join(traceback.format_exception_only(caught.value))
