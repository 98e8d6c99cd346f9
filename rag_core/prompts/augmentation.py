"""The augmentation prompt of the workbench: a template with a query and its passages (S0-64 to S0-66).

Unlike the other prompts it is read by people and pasted into chats, so the passages are Markdown instead of JSON. They
are in the same fence, and text that could end it or pass for a passage's heading is neutralized.
"""

import re
from collections.abc import Mapping, Sequence

from rag_core import prompts
from rag_core.core.model import Evidence
from rag_core.core.ports import Prompt

AUGMENTATION_TASK = "rag_augmentation"
TEMPLATE_VARIABLE = re.compile(r"\{(query|contexts|intent|entities)\}")
MARKUP_START = re.compile(
    r"<(?=[/|!?A-Za-z_])"
)  # start of a tag, of the end of the fence, or of a chat template's token
CHAT_TOKEN_START = re.compile(r"\[(?=/?[A-Z_]+\])")  # start of a chat template's token: [INST]
FAKE_HEADING = re.compile(r"^(?=## \[)", re.MULTILINE)  # would pass for the heading of another passage
CONTEXT_START = re.compile(r"\n\nContext:\n<data (\w++)>\n")  # of the packaged template, filled
MARKDOWN_ESCAPE = r"\\"  # replacement pattern of one backslash, the escape of Markdown


def build_augmentation_prompt(
    question: str, evidence: Sequence[Evidence], *, intent: str = "", entities: Sequence[str] = (), template: str = ""
) -> Prompt:
    """Build the augmentation prompt; `template` replaces the packaged one.

    The paragraphs of the template before its first variable are the system message, the rest is the user message.
    """
    system, user = _split_template(template or prompts.load_packaged_template(AUGMENTATION_TASK))
    values = {
        "query": neutralize_markup(question),
        "contexts": fence_passages("\n\n".join(map(format_passage_block, evidence))),
        "intent": neutralize_markup(intent) or "not known",
        "entities": neutralize_markup(", ".join(entities)) or "none named",
    }
    inputs = {"question": question, "evidence": [prompts.encode_evidence(passage) for passage in evidence]}
    return Prompt(
        AUGMENTATION_TASK, system, TEMPLATE_VARIABLE.sub(lambda name: values[name[1]], user), inputs, max_tokens=1024
    )


def format_passage_block(passage: Evidence) -> str:
    """Format a passage as "## [Work Title] > Heading > Subheading" and its text (S0-65)."""
    chunk, place = passage.hit.chunk, passage.place
    section = place.section if place and place.section else chunk.heading_path
    subsections = section[1:] if section[:1] == (chunk.title,) else section  # the title is often the first heading
    title, *headings = (neutralize_markup(" ".join(part.split())) for part in (chunk.title, *subsections))
    text = FAKE_HEADING.sub(MARKDOWN_ESCAPE, neutralize_markup(passage.text))
    return f"## {' > '.join([f'[{title}]', *headings])}\n\n{text}"


def neutralize_markup(text: str) -> str:
    """Replace the characters that could begin a tag, the end of the fence or a chat template's token."""
    return CHAT_TOKEN_START.sub("⟦", MARKUP_START.sub("‹", text))


def fence_passages(blocks: str) -> str:
    """Return the blocks between two marks that they do not contain."""
    fence_mark = prompts.make_fence_mark(blocks)
    return f"<data {fence_mark}>\n{blocks}\n</data {fence_mark}>"


def parse_augmentation_prompt(prompt: str) -> Mapping[str, object] | None:
    """Return the inputs of a prompt of the packaged template; None for any other text. Page numbers are lost."""
    _, found, filled = prompt.partition("\nQuery: ")
    start = CONTEXT_START.search(filled)
    end = filled.rfind(f"\n</data {start[1]}>", start.end()) if start else -1
    known = prompt.startswith(_split_template(prompts.load_packaged_template(AUGMENTATION_TASK))[0])
    if not (found and start and end >= 0 and known):
        return None
    blocks = [part.partition("\n\n") for part in f"\n{filled[start.end() : end]}".split("\n## [")[1:]]
    evidence = [
        {"id": f"e{n}", "title": title, "page": None, "section": section, "text": text.strip()}
        for n, (heading, _, text) in enumerate(blocks, start=1)
        for title, _, section in [heading.partition("] > ")]
    ]
    return {"question": filled[: start.start()], "evidence": evidence}


def list_missing_variables(template: str) -> list[str]:
    """Return the variables that a template must have and lacks, in braces."""
    return [f"{{{name}}}" for name in ("query", "contexts") if f"{{{name}}}" not in template]


def _split_template(template: str) -> tuple[str, str]:
    """Return the system and the user part of a template, split at the last paragraph before its first variable."""
    variable = TEMPLATE_VARIABLE.search(template)
    split_at = template.rfind("\n\n", 0, variable.start() if variable else 0)
    return (template[:split_at].strip(), template[split_at:].strip()) if split_at > 0 else ("", template.strip())
