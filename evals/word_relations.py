"""`python -m evals.word_relations FOLDER`: make the table of word relations that `rag_core.text.word_relations` reads.

FOLDER has the database files of WordNet 3.0 (`data.noun`, `index.noun`, `noun.exc` and so on), as Debian's package
wordnet-base installs them in /usr/share/wordnet. The same files give the same bytes.
"""

import argparse
import gzip
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rag_core.text.word_relations import TABLE_FILE

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
MAX_SENSES = 4  # of a word, the most frequent first: rare ones make synonyms of words that nobody would exchange
MAX_SIMILAR_SENSES = 2  # the same for adjectives that are only similar, such as "huge" and "large"
WORD = re.compile(r"[a-z]{2,}(?:[_-][a-z]+){0,2}")
LEFT_OUT_FILES = frozenset({5, 20})  # WordNet's files of animals and plants: names of species
RelationColumn = Literal["synonyms", "opposites", "derived"]
Sense = tuple[str, str]  # part of speech and offset


@dataclass(frozen=True, slots=True)
class Synset:
    """The words of a sense, and its pointers: symbol, sense, and the numbers of the two words, 0 for all."""

    words: tuple[str, ...]
    pointers: tuple[tuple[str, Sense, int, int], ...]
    file: int


@dataclass(slots=True)
class WordRelations:
    """What other words a word is the same as, the opposite of, or derived with."""

    synonyms: set[str] = field(default_factory=set)
    opposites: set[str] = field(default_factory=set)
    derived: set[str] = field(default_factory=set)


def read_synsets(folder: Path) -> dict[Sense, Synset]:
    """Read the senses of all parts of speech."""
    found = {}
    for part, name in PARTS.items():
        for line in (folder / f"data.{name}").read_text("latin-1").splitlines():
            if not line.startswith(" "):
                fields = line.split(" | ")[0].split()
                found[part, fields[0]] = _parse_synset(fields)
    return found


def _parse_synset(fields: list[str]) -> Synset:
    count = int(fields[3], 16)
    words = tuple(fields[4 + 2 * n].split("(")[0] for n in range(count))
    at = 4 + 2 * count
    pointers = [fields[at + 1 + 4 * n : at + 5 + 4 * n] for n in range(int(fields[at]))]
    return Synset(
        words,
        tuple((sign, (part, offset), int(ends[:2], 16), int(ends[2:], 16)) for sign, offset, part, ends in pointers),
        int(fields[1]),
    )


def read_senses(folder: Path) -> dict[str, list[tuple[Sense, int]]]:
    """Return the senses of each word with their ranks from 0, at most MAX_SENSES of each part of speech."""
    found: dict[str, list[tuple[Sense, int]]] = defaultdict(list)
    for part, name in PARTS.items():
        for line in (folder / f"index.{name}").read_text("latin-1").splitlines():
            fields = line.split()
            if line.startswith(" ") or not WORD.fullmatch(fields[0]):
                continue
            offsets = fields[6 + int(fields[3]) :]
            found[fields[0]] += [((part, offset), rank) for rank, offset in enumerate(offsets[:MAX_SENSES])]
    return found


def collect_relations(
    synsets: Mapping[Sense, Synset], senses: Mapping[str, list[tuple[Sense, int]]]
) -> dict[str, WordRelations]:
    """Return the relations of each word by its frequent senses; names are left out."""
    members: dict[Sense, list[tuple[str, int]]] = defaultdict(list)
    for word, ranked in senses.items():
        for sense, rank in ranked:
            if word in synsets[sense].words and synsets[sense].file not in LEFT_OUT_FILES:
                members[sense].append((word, rank))
    relations: dict[str, WordRelations] = defaultdict(WordRelations)
    for sense, found in members.items():
        words = [word for word, _ in found]
        for word in words:
            relations[word].synonyms.update(words)
        for sign, other, first, second in synsets[sense].pointers:
            others = members.get(other, [])
            if sign == "!":
                _relate(
                    _list_with_similar(sense, synsets, members), [word for word, _ in others], relations, "opposites"
                )
            elif sign == "&":
                words_near, near = ([w for w, rank in pair if rank < MAX_SIMILAR_SENSES] for pair in (found, others))
                _relate(words_near, near, relations, "synonyms")
            elif sign in ("+", "\\") and first and second:
                pair = synsets[sense].words[first - 1], synsets[other].words[second - 1]
                if pair[0] in words and pair[1] in [word for word, _ in others]:
                    _relate([pair[0]], [pair[1]], relations, "derived")
    return relations


def _list_with_similar(
    sense: Sense, synsets: Mapping[Sense, Synset], members: Mapping[Sense, list[tuple[str, int]]]
) -> list[str]:
    """Return the words of a sense and, of an adjective, of those that are similar to it."""
    near = [sense, *(other for sign, other, _, _ in synsets[sense].pointers if sign == "&")]
    return [word for one in near for word, rank in members.get(one, ()) if one == sense or rank < MAX_SIMILAR_SENSES]


def _relate(
    words: Sequence[str], others: Sequence[str], relations: Mapping[str, WordRelations], column: RelationColumn
) -> None:
    """Add each of the words to a column of each of the others, and the reverse."""
    for word in words:
        for other in others:
            getattr(relations[word], column).add(other)
            getattr(relations[other], column).add(word)


def read_irregular_forms(folder: Path) -> dict[str, set[str]]:
    """Return the words of which an irregular form is one: "bought" of "buy"."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in PARTS.values():
        for line in (folder / f"{name}.exc").read_text("latin-1").splitlines():
            form, *words = line.split()
            if WORD.fullmatch(form):
                found[form].update(word for word in words if WORD.fullmatch(word) and word != form)
    return found


def format_table(relations: Mapping[str, WordRelations], forms: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield a line for each word: itself, the words of which it is a form, synonyms, opposites, derived words."""
    for word in sorted({*relations, *forms}):
        found = relations.get(word, WordRelations())
        columns = (forms.get(word, set()), found.synonyms - {word}, found.opposites, found.derived)
        if any(columns):
            yield "\t".join([word, *(" ".join(sorted(column)) for column in columns)]).rstrip("\t")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    relations = collect_relations(read_synsets(folder), read_senses(folder))
    lines = list(format_table(relations, read_irregular_forms(folder)))
    TABLE_FILE.write_bytes(gzip.compress("\n".join(lines).encode(), compresslevel=9, mtime=0))
    print(f"{len(lines)} words, {TABLE_FILE.stat().st_size} bytes: {TABLE_FILE}")


if __name__ == "__main__":
    main()
