"""Where the data folder of a command is: found as git finds its own, upwards, and then for the whole user."""

from dataclasses import replace
from pathlib import Path

from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.settings import Settings

DATA_FOLDER = ".rag"
USER_FOLDER = "azure-rag"  # below the user's data directory, as ~/.local/share


def find_data_dir(start: Path) -> Path:
    """Return the nearest `.rag` from a folder upwards, else the user's own where there is one, else `.rag` in `start`.

    The last does not exist yet: a command that indexes makes it.
    """
    for folder in (start, *start.parents):
        if (folder / DATA_FOLDER).is_dir():
            return folder / DATA_FOLDER
    user_dir = get_user_data_dir()
    return user_dir if user_dir.is_dir() else start / DATA_FOLDER


def get_user_data_dir() -> Path:
    """Return the folder of the user's own index, which every folder without a `.rag` above it uses once it is there."""
    import platformdirs

    return Path(platformdirs.user_data_dir(USER_FOLDER, appauthor=False))


def locate_data(settings: Settings, start: Path) -> Settings:
    """Return the settings with the data folder that is found from a folder upwards."""
    found = find_data_dir(start)
    return replace(settings, data_dir=Path(DATA_FOLDER) if found == start / DATA_FOLDER else found)


def require_no_file(data_dir: Path | None) -> None:
    """Raise InvalidRequest where the data folder, or a folder above it, is a file."""
    for path in (data_dir, *data_dir.parents) if data_dir else ():
        if path.is_file():
            raise InvalidRequest("--data", f"must be a folder: {path} is a file")


def require_index(settings: Settings) -> None:
    """Raise NotFound where a command that only reads would make a new, empty data folder, and name the folder."""
    if settings.data_dir is None or settings.azure_search_endpoint or settings.postgres_url:
        return
    if not settings.data_dir.is_dir() or not any(settings.data_dir.iterdir()):
        raise NotFound(
            f"there is no index in {settings.data_dir.resolve()}: rag index PATH makes one; "
            "--data or RAG_DATA_DIR names another folder",
            code="nothing_indexed",
        )
