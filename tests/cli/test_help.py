"""What `rag` says of itself: help with examples, its version, completion, and what was probably meant."""

import argparse
import shlex
import subprocess
from collections.abc import Iterator
from importlib.metadata import version

import pytest

from rag_core.cli import build_parser, main
from rag_core.cli.examples import EXAMPLES
from rag_core.cli.forgiving_parser import list_commands


def list_leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of the commands that can be run."""
    below = [command for _, command in list_commands(parser)]
    if not below or parser.get_default("command"):
        yield parser
    for command in below:
        yield from list_leaves(command)


def test_every_command_has_examples_that_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    names = {name for name, _ in list_commands(build_parser())}
    assert set(EXAMPLES) == names - {"eval", "audit"}  # groups, whose commands have examples or arguments of their own
    for name, lines in EXAMPLES.items():
        with pytest.raises(SystemExit):
            main([name, "--help"])
        printed = capsys.readouterr().out
        for line in lines:
            assert line in printed
            words = shlex.split(line.partition(" <")[0].partition(" >")[0])
            assert words[:2] == ["rag", name]
            assert build_parser().parse_args(words[1:]).command


def test_every_command_that_ends_has_json() -> None:
    """But those that print a report of an evaluation for reading, or JSON Lines as `eval ratings` does."""
    without = {
        parser.prog.removeprefix("rag ")
        for parser in list_leaves(build_parser())
        if not any("--json" in action.option_strings for action in parser._actions)
    }
    assert without == {"serve", "mcp", "completion", "eval claims", "eval answers", "eval gate", "eval ratings"}


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"azure-rag {version('azure-rag')}\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["indx", "manual.pdf"], "index"),
        (["ask", "--workflw", "garage", "x"], "--workflow"),
        (["ask", "--style", "number", "x"], "numbers"),
        (["ask", "--pipeline", "standard", "x"], "--preset"),  # as it was called, and as rag query still has it
        (["eval", "gaet"], "gate"),
        (["completion", "bsh"], "bash"),
        (["list"], "documents"),  # which no letters lead to
    ],
)
def test_a_slip_is_told_what_was_probably_meant(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"did you mean {meant}?\n")


def test_what_is_like_nothing_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["xyzzy"])
    assert "did you mean" not in capsys.readouterr().err


def test_an_option_that_a_command_lacks_is_told_with_those_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest option was one of another command, and the usage that of `rag`."""
    with pytest.raises(SystemExit):
        main(["query", "fluid", "--filter", "maker=FORD"])
    said = capsys.readouterr().err
    assert "did you mean" not in said
    assert "--top-k" in said
    assert "rag query: error: unrecognized arguments: --filter" in said


def test_the_shell_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    """In a real bash: the printed script, and what it offers after the words of a line."""
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    for line, offered in (("rag ind", "index"), ("rag ask --wor", "--workflow"), ("rag ask --style pa", "pages")):
        words = line.split()
        asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}"
        shell = f"{script}\n{asked}; _shtab_rag rag {words[-1]} {words[-2]} 2>/dev/null; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
        assert offered in done.stdout.split()
