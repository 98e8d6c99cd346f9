"""The options that several commands have, and the parsers of their values."""

import argparse
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from rag_core.core.presets import RANKING_PRESETS


def build_data_option() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="folder of the index (default: $RAG_DATA_DIR, else the nearest .rag upwards)",
    )
    return option


def build_json_option() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument("--json", action="store_true", help="print JSON instead of text, also of a refusal")
    return option


def build_workflow_option() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument(
        "--workflow",
        type=parse_id_option,
        default="default",
        metavar="ID",
        help="workflow whose documents are used (default: default)",
    )
    return option


def build_answering_preset_option() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument("--preset", help=f"preset that answers: {', '.join(RANKING_PRESETS)} (default: advanced)")
    return option


def build_budget_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--plan", action="store_true", help="print what would be done and its cost, without doing it")
    options.add_argument(
        "--budget-usd",
        type=_parse_usd_option,
        metavar="N",
        help="stop before embedding costs more than N; the exit code is then 3",
    )
    return options


def build_enrichment_option() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument(
        "--enrichment-usd",
        type=_parse_usd_option,
        metavar="N",
        help="most that the chat model may cost for entities and summaries, 0 for none (default: ask on a terminal)",
    )
    return option


def _parse_usd_option(text: str) -> float:
    try:
        amount = Decimal(text)
    except ArithmeticError:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError("must be an amount, such as 0.50")
    return float(amount)


def create_integer_parser(low: int, high: int = 1_000_000) -> Callable[[str], int]:
    """Return an argparse type for whole numbers from `low` to `high`."""

    def read(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"must be a whole number from {low} to {high}")
        return int(text)

    return read


def parse_id_option(text: str) -> str:
    """Parse an id by the rules of the HTTP API."""
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", text):
        raise argparse.ArgumentTypeError("must be 1 to 128 of A-Z a-z 0-9 . _ : -")
    return text
