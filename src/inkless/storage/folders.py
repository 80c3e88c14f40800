"""Folders that are still there after a crash of the machine: a new entry is on disk once its parent is synced."""

import os
from contextlib import suppress

_FOLDER_MODE = 0o777


def make_durable_folder(path: str) -> None:
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_durable_folder(parent)
    with suppress(FileExistsError):
        os.mkdir(path, _FOLDER_MODE)
    sync_folder(parent)


def sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
