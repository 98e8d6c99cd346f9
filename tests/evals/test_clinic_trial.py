"""Right answers in a model's own words pass the threshold of `classical` where the evidence has them."""

from pathlib import Path

from evals import clinic_trial
from rag_core.evaluation.evaluation_cache import EvaluationCache


async def test_right_answers_in_own_words_that_a_judge_supports_are_accepted(tmp_path: Path) -> None:
    """S4-26, S4-03: with personal data in the question; all questions: `python -m evals.clinic_trial`."""
    cache = EvaluationCache(tmp_path / "cache.sqlite3")
    questions = clinic_trial.load_clinic_questions()[::4]
    answers = await clinic_trial.ask_clinic(cache, questions, personal=True, verdict="supported")
    cache.close()
    answerable = {one.id for one in questions if clinic_trial.is_answerable(one, answers[one.id])}
    accepted = {id for id, answer in answers.items() if clinic_trial.is_accepted(answer)}
    assert len(answerable) >= 2
    assert accepted == answerable
    assert all(answers[id].confidence.value >= 0.7 for id in accepted)
