"""The prompt of the workbench: a template filled with a question and the passages found for it (S0-64 to S0-66).

Unlike the others it is read by people and pasted into chats, so that the passages are Markdown and not JSON. They stand
within the project's fence all the same, and what could end it or pose as a passage's heading is made plain in them.
"""

import re
from collections.abc import Mapping, Sequence

from rag_core import prompts
from rag_core.core.model import Evidence
from rag_core.core.ports import Prompt

TASK = "rag_augmentation"
VARIABLE = re.compile(r"\{(query|contexts|intent|entities)\}")
MARKUP = re.compile(r"<(?=[/|!?A-Za-z_])")  # of a tag, an end of the fence, or a chat template's token
TOKEN = re.compile(r"\[(?=/?[A-Z_]+\])")  # of a chat template: [INST]
POSING = re.compile(r"^(?=## \[)", re.MULTILINE)  # as the heading of another passage
FILLED = re.compile(
    r"^Query: (?P<query>.*?)\n\nContext:\n<data (?P<mark>\w+)>\n(?P<blocks>.*)\n</data (?P=mark)>",
    re.DOTALL | re.MULTILINE,
)
ESCAPED = r"\\"  # one stroke, as Markdown escapes


def rag_augmentation(
    question: str, evidence: Sequence[Evidence], *, intent: str = "", entities: Sequence[str] = (), told: str = ""
) -> Prompt:
    """The template with its variables filled in; `told` stands in for the packaged one.

    Its paragraphs before the first variable are the system message, the rest is the user message.
    """
    system, user = _parted(told or prompts.wording(TASK))
    values = {
        "query": plain(question),
        "contexts": fenced("\n\n".join(map(block, evidence))),
        "intent": plain(intent) or "not known",
        "entities": plain(", ".join(entities)) or "none named",
    }
    inputs = {"question": question, "evidence": [prompts.given(passage) for passage in evidence]}
    return Prompt(TASK, system, VARIABLE.sub(lambda name: values[name[1]], user), inputs, max_tokens=1024)


def block(passage: Evidence) -> str:
    """A passage under its title and headings: "## [Work Title] > Heading > Subheading", then its text (S0-65)."""
    chunk = passage.hit.chunk
    place = chunk.place(passage.start, passage.end)
    section = place.section if place and place.section else chunk.heading_path
    below = section[1:] if section[:1] == (chunk.title,) else section  # a document's title is often its first heading
    title, *headings = (plain(" ".join(part.split())) for part in (chunk.title, *below))
    return f"## {' > '.join([f'[{title}]', *headings])}\n\n{POSING.sub(ESCAPED, plain(passage.text))}"


def plain(text: str) -> str:
    """The text with other signs for those that could begin a tag, the fence's end or a chat template's token."""
    return TOKEN.sub("⟦", MARKUP.sub("‹", text))


def fenced(blocks: str) -> str:
    """Between two marks that do not stand in it."""
    mark = prompts.mark(blocks)
    return f"<data {mark}>\n{blocks}\n</data {mark}>"


def read_back(prompt: str) -> Mapping[str, object] | None:
    """The inputs of a prompt that the packaged template made; None of any other text. Pages are not in it."""
    found = FILLED.search(prompt)
    if found is None or not prompt.startswith(_parted(prompts.wording(TASK))[0]):
        return None
    blocks = [part.partition("\n\n") for part in re.split(r"^## \[", found["blocks"], flags=re.MULTILINE)[1:]]
    evidence = [
        {"id": f"e{n}", "title": title, "page": None, "section": section, "text": text.strip()}
        for n, (heading, _, text) in enumerate(blocks, start=1)
        for title, _, section in [heading.partition("] > ")]
    ]
    return {"question": found["query"], "evidence": evidence}


def lacking(template: str, needed: Sequence[str] = ("query", "contexts")) -> list[str]:
    """The variables that a template must have and has not."""
    return [f"{{{name}}}" for name in needed if f"{{{name}}}" not in template]


def _parted(template: str) -> tuple[str, str]:
    first = VARIABLE.search(template)
    head = template.rfind("\n\n", 0, first.start() if first else 0)
    return (template[:head].strip(), template[head:].strip()) if head > 0 else ("", template.strip())
