"""Where the Functions app stands: beside rag_core in a checkout, in rag_core/_app in an installed package."""

import sys
from pathlib import Path

import rag_core

PACKAGE_FOLDER = Path(rag_core.__file__).parent


def add_app_root_to_path(package_folder: Path = PACKAGE_FOLDER) -> Path:
    """Make the app importable as the Functions host does, and return its folder, which becomes the first of sys.path.

    The app's packages have names that belong to nobody (`functions`, `web`), so they are not installed beside rag_core;
    only a process that serves the app sees them.
    """
    installed, checkout = package_folder / "_app", package_folder.parent
    app_root = installed if installed.is_dir() else checkout
    if str(app_root) not in sys.path:
        sys.path.insert(0, str(app_root))
    return app_root
