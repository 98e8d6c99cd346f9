"""The blocks of the page on the workbench."""

from rag_core.evaluation.markdown_tables import format_table
from rag_core.text.intent import INTENTS, classify_intent
from tests.docs_blocks import Blocks

INTENT_EXAMPLES = (
    "What is the difference between P0700 and P0730?",
    "How do I replace the filter?",
    "Why does the lamp stay on?",
    "What evidence is there for decay?",
    "How does working memory function?",
    "What is a torque wrench used for?",
    "What is working memory?",
    "What is the torque of the drain plug?",
)


def write_intents() -> str:
    """Return each intent with a question that the rules give it.

    Raises:
        KeyError: an intent has no example.
    """
    examples = {classify_intent(question): question for question in INTENT_EXAMPLES}
    return format_table(["intent", "example"], [[intent, examples[intent]] for intent in INTENTS])


BLOCKS: Blocks = {"intents": ("reference/workbench.md", write_intents)}
