"""A parser that says what was probably meant, shows examples, and tells its version."""

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from rag_core.cli.json_output import print_refusal
from rag_core.core.errors import RagError
from rag_core.text.near_names import suggest_name

_OTHER_NAMES = {  # what other tools call our commands, and what an option was called before
    "--pipeline": "--preset",
    **dict.fromkeys(("list", "ls", "docs"), "documents"),
    **dict.fromkeys(("search", "find", "retrieve"), "query"),
    **dict.fromkeys(("add", "upload", "import"), "index"),
    **dict.fromkeys(("answer", "question"), "ask"),
    **dict.fromkeys(("start", "run", "server", "up"), "serve"),
    **dict.fromkeys(("rm", "remove"), "delete"),
    **dict.fromkeys(("init", "install"), "setup"),
    **dict.fromkeys(("status", "info", "config"), "doctor"),
}


class ForgivingParser(argparse.ArgumentParser):
    """An ArgumentParser whose errors name the nearest command, choice or option; Python has this from 3.14 on."""

    _refuses_in_json = False
    _words: tuple[str, ...] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and remember for an error the words, and whether it is to be told in JSON."""
        args = sys.argv[1:] if args is None else list(args)
        self._words = tuple(args)
        self._refuses_in_json = "--json" in args
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the error with what was probably meant, and exit with 2; `rag` alone prints its help."""
        if self._refuses_in_json:
            argument = re.match(r"argument ([^:]{1,100}): ", message)
            refusal = RagError(
                message + self._suggest(message), code="invalid_request", field=argument[1] if argument else None
            )
            print_refusal(refusal, as_json=True)
            self.exit(2)
        if message.endswith("required: COMMAND"):
            self.print_help(sys.stderr)
            self.exit(2)
        meant = self._suggest(message)
        if command := re.match(r"argument COMMAND: invalid choice: ('[^']{1,100}')", message):
            self.exit(2, f"rag: there is no command {command[1]}{meant or '; rag --help lists them'}\n")
        argparse.ArgumentParser.error(self._find_command(), f"{message}{meant}")

    def _find_command(self) -> argparse.ArgumentParser:
        """Return the parser of the command that the words name, with which an option that it lacks was given."""
        parser: argparse.ArgumentParser = self
        for word in self._words:
            parser = dict(list_commands(parser)).get(word, parser)
        return parser

    def _suggest(self, message: str) -> str:
        given, known = self._find_mistake(message)
        meant = _OTHER_NAMES.get(given, "")
        return f"; did you mean {meant}?" if meant in known else suggest_name(given, known)

    def _find_mistake(self, message: str) -> tuple[str, list[str]]:
        """Return what was not understood, and what would be; "" for an error of another kind."""
        if choice := re.search(r"invalid choice: '([^']{1,100})' \(choose from ", message):
            return choice[1], re.findall(r"[\w-]+", message[choice.end() :])
        if option := re.search(r"unrecognized arguments: (--[\w-]+)", message):
            return option[1], sorted(set(list_options(self._find_command())) - {option[1]})
        return "", []


def list_options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the long options of a parser and of the commands below it."""
    for action in parser._actions:
        yield from (option for option in action.option_strings if option.startswith("--"))
    for _, below in list_commands(parser):
        yield from list_options(below)


def list_commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the commands directly below a parser, with their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


class VersionAction(argparse.Action):
    """Prints the version of the package; it is looked up only then, because that takes time."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"azure-rag {version('azure-rag')}")
        parser.exit()
