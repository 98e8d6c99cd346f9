"""Names of variables that look like a setting and are none: what they were to set keeps its default, without a word."""

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches

OWN_PREFIX = "RAG_"
LEAST_LIKENESS = 0.88  # without our prefix: AZURE_OPENAI_KEY was meant for us, OPENAI_API_VERSION was not
LEAST_OWN_LIKENESS = 0.7
OTHER_PROGRAMS_NAMES = frozenset({"OLLAMA_MODELS"})  # the folder of Ollama's models


def list_unknown_settings(names: Iterable[str], known_names: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each name that begins like ours, or is nearly that of a setting, and is none."""
    first_words = {name.partition("_")[0] for name in known_names}
    for name in sorted({*names} - {*known_names} - OTHER_PROGRAMS_NAMES):
        is_own = name.startswith(OWN_PREFIX)
        if not is_own and name.partition("_")[0] not in first_words:
            continue
        likeness = LEAST_OWN_LIKENESS if is_own else LEAST_LIKENESS
        meant = next(iter(get_close_matches(name, known_names, 1, likeness)), "")
        if is_own or meant:
            yield f"{name} is no setting and has no effect{f': is {meant} meant?' if meant else ''}"
