"""`rag eval`: evaluation of the pipelines on labelled questions."""

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rag_core.cli.json_output import format_json
from rag_core.cli.opened_service import run_with_rag
from rag_core.core import settings
from rag_core.core.kit import Kit
from rag_core.core.run import Run

if TYPE_CHECKING:
    from rag_core.rag import RAG

T = TypeVar("T")


def run_eval_command(arguments: Namespace) -> int:
    """Score each leg and pipeline on a labelled collection and print a row for each."""
    from rag_core.cli import terminal_layout
    from rag_core.evaluation import pipeline_evaluation

    with terminal_layout.create_progress_bar(sys.stderr) as bar:
        report = pipeline_evaluation.evaluate_pipelines(
            arguments.folder,
            **_read_collection_options(arguments),
            progress=terminal_layout.create_progress_callback(bar),
        )
    print(json.dumps(report.to_json(), indent=2) if arguments.json else report.format_table())
    return 0


def run_eval_compare_command(arguments: Namespace) -> int:
    """Compare every preset with the first, paired by question; then again on each half of the questions."""
    return _print_comparison(arguments, {spec: spec for spec in arguments.presets}, arguments.presets[0])


def run_eval_ablate_command(arguments: Namespace) -> int:
    """Print the ablation table (S1-61 to S1-65) for a labelled folder."""
    from rag_core.evaluation.ablation import ABLATION_BASELINE, ABLATION_PRESETS

    presets = {name: spec for name, (spec, _) in ABLATION_PRESETS.items()}
    return _print_comparison(
        arguments,
        presets,
        ABLATION_BASELINE,
        expected={name: expectation for name, (_, expectation) in ABLATION_PRESETS.items()},
    )


def run_eval_gate_command(arguments: Namespace) -> int:
    """Score the fixed sets; return 1 when a ranking is significantly worse than the baseline."""
    from rag_core.evaluation import gate as gates
    from rag_core.evaluation.evaluation_cache import DEFAULT_CACHE_FILE

    scores, baseline = gates.score_gate_sets(DEFAULT_CACHE_FILE), gates.load_baseline()
    print(gates.format_gate_report(scores, baseline))
    if arguments.update:
        gates.save_baseline(scores)
        return 0
    regressions = gates.find_regressions(scores, baseline)
    for regression in regressions:
        print(f"worse: {regression}", file=sys.stderr)
    return 1 if regressions else 0


def run_eval_claims_command(arguments: Namespace) -> int:
    """Judge labelled claims by the judge of the settings and print the findings by kind."""
    from rag_core.evaluation import labelled_claims

    claims = labelled_claims.load_labelled_claims(arguments.file)
    judged = _run_with_kit(partial(labelled_claims.judge_labelled_claims, claims))
    print(labelled_claims.format_findings(claims, judged))
    print(f"\n{len(claims)} claims, AUC of support {labelled_claims.compute_support_auc(claims, judged):.3f}")
    for one, claim in labelled_claims.list_misjudged_claims(claims, judged, arguments.show):
        found = claim.judgement.finding if claim.judgement else "not judged"
        print(f"\n{one.label} {one.kind}, found {found} {'; '.join(claim.reasons)}\n  {one.text}")
    return 0


def run_eval_answers_command(arguments: Namespace) -> int:
    """Give labelled answers of models and print what is kept, and whether the confidence tells right from wrong."""
    from rag_core.evaluation import labelled_answers

    answers = labelled_answers.load_labelled_answers(arguments.file)
    print(
        labelled_answers.format_answer_report(_run_with_kit(partial(labelled_answers.give_labelled_answers, answers)))
    )
    return 0


def run_eval_schema_command(arguments: Namespace) -> int:
    """Link labelled questions to the schemas of a folder and print what is found, beside baselines."""
    from rag_core.evaluation import schema_collection, schema_linking

    collection = schema_collection.load_schema_collection(arguments.folder)
    evaluate = partial(
        schema_linking.evaluate_schema_linking,
        collection,
        max_questions=arguments.queries,
        half=arguments.half,
        by_model=arguments.by_model,
        past_questions=arguments.past_questions,
    )
    report = _run_with_kit(evaluate)
    print(json.dumps(report.to_json(), indent=2) if arguments.json else report.format_tables())
    return 0


@run_with_rag
async def run_eval_ratings_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the rated answers as JSON Lines, newest first, and on standard error how many there are."""
    rated = await rag.rated_answers(scope=arguments.workflow, run=run)
    for row in rated.rows:
        print(format_json(row))
    refusals = f"; {rated.left_out} rated refusals are left out" if rated.left_out else ""
    print(f"{len(rated.rows)} rated answers{refusals}", file=sys.stderr)
    return 0


def _run_with_kit(evaluate: Callable[[Kit], Awaitable[T]]) -> T:
    """Run an evaluation with the models of the settings and an index that is empty and in memory."""
    from rag_core.composition import assembly

    async def run() -> T:
        kit = assembly.build_in_memory_kit(settings.load_settings())
        try:
            return await evaluate(kit)
        finally:
            await kit.close()

    return asyncio.run(run())


def _print_comparison(arguments: Namespace, presets: dict[str, str], baseline: str, **options: Any) -> int:
    from rag_core.cli import terminal_layout
    from rag_core.evaluation import ablation

    with terminal_layout.create_progress_bar(sys.stderr) as bar:
        progress = terminal_layout.create_progress_callback(bar)
        comparison = ablation.compare_presets(
            arguments.folder,
            presets,
            baseline,
            **options,
            **_read_collection_options(arguments),
            hosted=arguments.hosted,
            progress=progress,
        )
    print(json.dumps(comparison.to_json(), indent=2) if arguments.json else comparison.format_report())
    return 0


def _read_collection_options(arguments: Namespace) -> dict[str, Any]:
    """Return the options that the commands on a labelled folder share."""
    return {
        "max_questions": arguments.queries,
        "half": arguments.half,
        "workflow_field": arguments.workflow_field,
        "settings": settings.load_settings(),
    }
