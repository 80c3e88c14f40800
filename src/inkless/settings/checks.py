"""What must hold between settings, once each of them is right by itself."""

from collections.abc import Mapping
from dataclasses import replace

from inkless.core.errors import SettingError
from inkless.settings.model import Settings

Places = Mapping[str, str]


def check(settings: Settings, places: Places) -> Settings:
    """The settings without a controller's listeners; `places` says where each explicit one came from."""
    settings = _without_controllers(settings, places)
    _check_protocols(settings, places)
    _check_advertised(settings, places)
    return _with_size_warning(settings, places)


def _place(name: str, places: Places) -> str:
    return places.get(name, f"{name} (default)")


def _without_controllers(settings: Settings, places: Places) -> Settings:
    names = settings.controller_listener_names
    kept = tuple(listener for listener in settings.listeners if listener.name not in names)
    if not kept:
        where = _place("controller.listener.names", places)
        raise SettingError(f"{where}: expected at least one listener that is not a controller's")
    advertised = settings.advertised_listeners_given
    if advertised is not None:
        advertised = tuple(listener for listener in advertised if listener.name not in names)
    return replace(settings, listeners=kept, advertised_listeners_given=advertised)


def _check_protocols(settings: Settings, places: Places) -> None:
    mapped = dict(settings.listener_security_protocol_map)
    for listener in settings.listeners:
        protocol = mapped.get(listener.name, listener.name)
        where = _place("listeners", places)
        if protocol in ("SSL", "SASL_PLAINTEXT", "SASL_SSL"):
            raise SettingError(f"{where}: {listener} needs {protocol}, which is not yet supported; use PLAINTEXT")
        if protocol != "PLAINTEXT":
            raise SettingError(
                f"{where}: {listener} has no security protocol; "
                f"set listener.security.protocol.map={listener.name}:PLAINTEXT"
            )


def _check_advertised(settings: Settings, places: Places) -> None:
    names = [listener.name for listener in settings.listeners]
    for listener in settings.advertised_listeners_given or ():
        if listener.name not in names:
            where = _place("advertised.listeners", places)
            raise SettingError(f"{where}: {listener} is not in listeners, which has {', '.join(names)}")


def _with_size_warning(settings: Settings, places: Places) -> Settings:
    batch, request = settings.message_max_bytes, settings.socket_request_max_bytes
    if batch < request:
        return settings
    where = _place("message.max.bytes", places)
    warning = f"{where}: a batch of {batch} bytes can't arrive while socket.request.max.bytes is {request}"
    return replace(settings, warnings=(*settings.warnings, warning))
