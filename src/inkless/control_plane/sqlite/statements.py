"""The SQL of the SQLite plane, one statement a file in `sql/sqlite`, read once."""

from functools import cache
from importlib.resources import files


@cache
def sql(name: str) -> str:
    return files("inkless.control_plane").joinpath("sql", "sqlite", f"{name}.sql").read_text().strip()


@cache
def migrations() -> list[tuple[int, str]]:
    """Every migration as (number, script), in order."""
    folder = files("inkless.control_plane").joinpath("sql", "sqlite", "migrations")
    scripts = sorted((item.name, item.read_text()) for item in folder.iterdir() if item.name.endswith(".sql"))
    return [(int(name.split("_")[0]), script) for name, script in scripts]
