"""Puts the Functions app and the emulator that serves it into the wheel, as the folder rag_core/_app.

All else about the package is said in pyproject.toml; docs/decisions/0018-what-is-installed.md says why this is so.
"""

from pathlib import Path
from shutil import copy2, copytree, ignore_patterns, rmtree

from setuptools import setup
from setuptools.command.build_py import build_py

APP = ("function_app.py", "functions", "local_emulator", "web")
# the JSON files of web/ say where its libraries come from; the others make the search emulator a package of its own
LEFT_OUT = ignore_patterns("__pycache__", "*.json", "pyproject.toml", "Dockerfile", ".dockerignore")


class BuildWithApp(build_py):
    """Builds the packages, and then copies the app beside them; an editable install uses the checkout's own."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        app_root = Path(self.build_lib, "rag_core", "_app")
        rmtree(app_root, ignore_errors=True)  # build/ is kept between builds: what was removed must not come back
        app_root.mkdir()
        for path in map(Path, APP):
            if path.is_dir():
                copytree(path, app_root / path, ignore=LEFT_OUT)
            else:
                copy2(path, app_root)


setup(cmdclass={"build_py": BuildWithApp})
