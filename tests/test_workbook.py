"""The operator's workbook asks only for what the code records."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORDING = ("rag_core/core/metrics.py", "rag_core/core/run.py", "functions/http.py", "rag_core/providers/openai.py")
NAME = re.compile(r"'((?:rag|gen_ai|http)\.[\w.]+)'")


def test_every_name_in_a_query_is_recorded() -> None:
    items = json.loads((ROOT / "infra" / "workbook.json").read_text("utf-8"))["items"]
    queries = [item["content"]["query"] for item in items if item["type"] == 3]
    assert len(queries) == 6
    recorded = "".join((ROOT / path).read_text("utf-8") for path in RECORDING)
    asked = {name for query in queries for name in NAME.findall(query)}
    assert asked
    assert {name for name in asked if f'"{name}"' not in recorded} == set()
