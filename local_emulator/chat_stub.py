"""A chat model as nasty as the world, for tests and experiments: how it answers and how it judges can be chosen.

What it says is as true as the local technique, or the sentences that a test gives; how it says it is what models do. It
is served by `ModelService` to the real client. Nothing here knows how answers are checked.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from local_emulator.judging import encode_judgement, read_claims
from local_emulator.planning import plan_by_words
from rag_core.core.model import Judgement
from rag_core.core.ports import LLM, ClaimToJudge, Completion, Prompt

SYNONYMS = (  # applied in order, each to the whole sentence
    (r"^(.+?) (?:is|are) (\w+ed) (?:every|each) (\d+) (\w+?)s\b", r"An interval of \3 \4s applies whenever \1 gets \2"),
    (r"^(.+?) (?:is|are) (\w+ed) by (the \w+(?: \w+)?)\b", r"It falls to \3 to see that \1 gets \2"),
    (r"^(.+?) must\b", r"It is obligatory that \1"),
    (r"\bwith the (\w+) (\w+ing)\b", r"while the \1 is \2"),
    (r"\bbetween ([\d.]+) and ([\d.]+) degrees\b", r"within the range of \1 to \2 degrees"),
    (r"\bmeasured ([\d.]+) (\w+)\b", r"gave a reading of \1 \2"),
    (r"\bevery\b", "each"),
    (r"\bat least\b", "no fewer than"),
    (r"\bat most\b", "no more than"),
    (r"\bat a temperature of\b", "once it reaches"),
    (r"\bis lit\b", "comes on"),
    (r"\bis stored\b", "is kept"),
    (r"\bstores\b", "keeps"),
    (r"\bstarts?\b", "begins"),
    (r"\bends?\b", "finishes"),
    (r"\bneeds?\b", "requires"),
    (r"\bbuys?\b", "purchases"),
    (r"\bshows?\b", "displays"),
    (r"\bapproximately\b", "about"),
    (r"\bcovers?\b", "includes"),
    (r"\bin the case of\b", "for"),
    (r"\bbefore\b", "prior to"),
    (r"\ballowed\b", "permitted"),
)
OPPOSITES = (  # the first that matches, once
    (r"\b(is|are|was|were|must|may|can|will|has|does|do) not\b", r"\1"),
    (r"\b(is|are|was|were|must|may|can|will)\b", r"\1 not"),
    (r"\bnever\b", "always"),
    (r"\balways\b", "never"),
    (r"\bincreas", "decreas"),
    (r"\bdecreas", "increas"),
    (r"\bmore than\b", "less than"),
    (r"\bbefore\b", "after"),
)
GERMAN_WORDS = dict(
    re.findall(
        r"(\w+):(\w+)",
        """the:die a:eine an:eine this:diese it:sie they:sie there:dort then:dann is:ist are:sind was:war were:waren
        has:hat must:muss may:darf not:nicht no:keine never:nie always:immer every:alle each:jede all:alle of:von at:bei
        on:auf by:durch for:für from:ab to:zu with:mit without:ohne and:und or:oder than:als when:wenn after:nach
        day:Tag days:Tage week:Woche weeks:Wochen hours:Stunden degrees:Grad keys:Schlüssel temperature:Temperatur
        lamp:Lampe gearbox:Getriebe overheats:überhitzt rotated:gewechselt team:Gruppe warranty:Garantie price:Preis""",
    )
)
PREFACE = (
    "Great question!",
    "I went through the documents that you provided, and here is what I could gather.",
    "It appears that the following may be what you are looking for.",
)
CLOSING = ("In summary, the above answers your question.", "Let me know if you would like more details!")


class Sentence(NamedTuple):
    """A sentence of an answer with the ids of the passages that it cites."""

    text: str
    cited_ids: tuple[str, ...]


Style = Callable[[Sequence[Sentence]], list[Sentence]]
Entries = list[dict[str, Any]]


def paraphrase(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Say each sentence in other words, by SYNONYMS."""
    return [Sentence(_substitute_all(text), ids) for text, ids in sentences]


def ramble(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Begin with a preface, hedge, say everything twice, and close politely."""
    ids = sentences[0].cited_ids
    hedged = [Sentence(f"As far as I can tell, {_lower_first(text)}", cited) for text, cited in sentences]
    again = [Sentence(f"To say it again: {_lower_first(text)}", cited) for text, cited in sentences]
    framed = ([Sentence(text, ids) for text in texts] for texts in (PREFACE, CLOSING))
    preface, closing = framed
    return [*preface, *hedged, *again, *closing]


def mark_down(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Write a heading, a lead-in, a list of sentences with bold words, and a table with the same sentences."""
    ids = sentences[0].cited_ids
    items = [Sentence(f"- {_embolden(text)}", cited) for text, cited in sentences]
    rows = "\n".join(f"| {number} | {text} |" for number, (text, _) in enumerate(sentences, start=1))
    return [
        Sentence("## Answer", ids),
        Sentence("**The documents say the following:**", ids),
        *items,
        Sentence(f"| No. | Statement |\n| --- | --- |\n{rows}", ids),
    ]


def cite_wrong_ids(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Cite passages that were not given."""
    return [Sentence(text, ("e99", "[1]")) for text, _ in sentences]


def answer_in_german(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Translate word by word; what GERMAN_WORDS lacks, stays."""
    return [
        Sentence(re.sub(r"[A-Za-z]+", lambda word: GERMAN_WORDS.get(word[0].lower(), word[0]), text), ids)
        for text, ids in sentences
    ]


def contradict(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Say after each sentence its opposite."""
    return [said for text, ids in sentences for said in (Sentence(text, ids), Sentence(negate(text), ids))]


def negate(text: str) -> str:
    """Return the opposite of a sentence, by OPPOSITES or else by its beginning."""
    for pattern, replacement in OPPOSITES:
        opposite, changes = re.subn(pattern, replacement, text, count=1)
        if changes:
            return opposite
    return f"It is not true that {_lower_first(text)}"


ANSWERING_STYLES: Mapping[str, Style] = {
    "copies": list,
    "paraphrases": paraphrase,
    "rambles": ramble,
    "markdown": mark_down,
    "wrong ids": cite_wrong_ids,
    "german": answer_in_german,
    "contradicts": contradict,
}
# what becomes of the honest judgements on their way into the reply; a text is the whole reply
JUDGING_STYLES: Mapping[str, Callable[[Entries], Entries | str]] = {
    "honest": lambda entries: entries,
    "always supported": lambda entries: [{**entry, "verdict": "supported", "probability": 1.0} for entry in entries],
    "short": lambda entries: entries[: len(entries) // 2],
    "malformed": lambda entries: [{**entry, "verdict": "yes", "probability": "high"} for entry in entries],
    "by position": lambda entries: json.dumps({"verdicts": [entry["verdict"] for entry in entries]}),
    "prose": lambda _: "All of these claims look fine to me.",
    "shifted": lambda entries: [
        {**entry, "claim": after["claim"]} for entry, after in zip(entries, [*entries[1:], *entries[:1]], strict=True)
    ],
    "doubled": lambda entries: [*entries, *({**entry, "verdict": "supported"} for entry in entries)],
    "unknown ids": lambda entries: [{**entry, "claim": f"claim {entry['claim']}"} for entry in entries],
    "invented words": lambda entries: [
        {**entry, "verdict": "supported", "passage": "none", "words": "as everybody knows"} for entry in entries
    ],
    "silent": lambda _: "",
}


class ChatStub:
    """A chat model with one style of answering and one of judging; in its other tasks the local techniques stand in.

    `programs` has, by question, what it replies where it is to plan a computation: fields, or a text as it stands. Of
    other questions the words say it.
    `answers` has true sentences by question, in place of those that the techniques choose; `truths` has, by words of a
    claim, the honest verdict on it and the words of a passage that decide. Other claims are not stated.
    """

    def __init__(
        self,
        techniques: LLM,
        *,
        answering: str = "copies",
        judging: str = "honest",
        programs: Mapping[str, object] | None = None,
        answers: Mapping[str, Sequence[str]] | None = None,
        truths: Mapping[str, tuple[str, str]] | None = None,
        model: str = "chat stub",
    ) -> None:
        self.name = model
        self._techniques = techniques
        self._restyle, self._garble = ANSWERING_STYLES[answering], JUDGING_STYLES[judging]
        self._programs = programs or {}
        self._answers, self._truths = answers or {}, truths or {}

    async def complete(self, prompt: Prompt) -> Completion:
        """Complete a prompt in the chosen style."""
        match prompt.task:
            case "answer":
                text = await self._answer(prompt)
            case "judge":
                text = self._judge(prompt.inputs)
            case "plan":
                program = self._programs.get(str(prompt.inputs["question"]), plan_by_words(prompt.inputs))
                text = program if isinstance(program, str) else json.dumps(program)
            case "standalone_question":
                text = json.dumps({"question": _write_standalone(prompt.inputs)})
            case _:
                text = (await self._techniques.complete(prompt)).text
        return Completion(text, self.name)

    async def _answer(self, prompt: Prompt) -> str:
        given = self._answers.get(str(prompt.inputs["question"]))
        if given is None:
            chosen = json.loads((await self._techniques.complete(prompt)).text)["sentences"]
            sentences = [Sentence(item["text"], tuple(item["evidence"])) for item in chosen]
        else:
            evidence: Any = prompt.inputs["evidence"]
            sentences = [Sentence(text, (evidence[0]["id"],)) for text in given]
        said = self._restyle(sentences) if sentences else []
        items = [{"text": text, "evidence": list(ids)} for text, ids in said]
        return json.dumps({"answerable": bool(items), "sentences": items})

    def _judge(self, inputs: Mapping[str, Any]) -> str:
        claims = read_claims(inputs)
        honest = [encode_judgement(id, claim, self._find_truth(claim), inputs) for id, claim in claims.items()]
        reply = self._garble(honest)
        return reply if isinstance(reply, str) else json.dumps({"judgements": reply})

    def _find_truth(self, claim: ClaimToJudge) -> Judgement:
        for key, (verdict, words) in self._truths.items():
            if key.casefold() not in claim.text.casefold():
                continue
            for number, passage in enumerate(claim.passages):
                if words in passage:
                    support = 0.97 if verdict == "supported" else 0.02
                    return Judgement(verdict, support, number, words)  # type: ignore[arg-type]
        return Judgement("not_stated", 0.04, 0)


def _write_standalone(inputs: Mapping[str, Any]) -> str:
    """Return the last question with what the user asked before it, as clumsily as small models put it."""
    asked = [turn["content"].rstrip("?. ") for turn in inputs["turns"] if turn["role"] == "user"]
    return f"{inputs['question'].rstrip('?. ')}, as regards {_lower_first(asked[-1])}?"[:400]


def _substitute_all(text: str) -> str:
    for pattern, replacement in SYNONYMS:
        text = re.sub(pattern, replacement, text)
    return text


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _embolden(text: str) -> str:
    return re.sub(r"\b(\d[\d.,]*(?: \w+)?)", r"**\1**", text, count=1)
