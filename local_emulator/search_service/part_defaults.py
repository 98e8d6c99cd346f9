"""Fill in what the parts of a definition leave out: the analysis of an index, and the skills of a skillset.

Recorded of the service; a part of another kind is answered as it was given.
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

SKILLS = "#Microsoft.Skills."
ANALYSIS = "#Microsoft.Azure.Search."
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    ANALYSIS + "CustomAnalyzer": {"tokenFilters": [], "charFilters": []},
    ANALYSIS + "PatternAnalyzer": {"lowercase": True, "pattern": r"\W+", "flags": None, "stopwords": []},
    ANALYSIS + "StandardAnalyzer": {"maxTokenLength": 255, "stopwords": []},
    ANALYSIS + "StopAnalyzer": {"stopwords": []},
    ANALYSIS + "CustomNormalizer": {"tokenFilters": [], "charFilters": []},
    ANALYSIS + "ClassicTokenizer": {"maxTokenLength": 255},
    ANALYSIS + "EdgeNGramTokenizer": {"minGram": 1, "maxGram": 2, "tokenChars": []},
    ANALYSIS + "KeywordTokenizerV2": {"maxTokenLength": 256},
    ANALYSIS + "MicrosoftLanguageStemmingTokenizer": {
        "maxTokenLength": 255,
        "isSearchTokenizer": False,
        "language": "english",
    },
    ANALYSIS + "MicrosoftLanguageTokenizer": {"maxTokenLength": 255, "isSearchTokenizer": False, "language": "english"},
    ANALYSIS + "NGramTokenizer": {"minGram": 1, "maxGram": 2, "tokenChars": []},
    ANALYSIS + "PathHierarchyTokenizerV2": {
        "delimiter": "/",
        "replacement": "/",
        "maxTokenLength": 300,
        "reverse": False,
        "skip": 0,
    },
    ANALYSIS + "PatternTokenizer": {"pattern": r"\W+", "flags": None, "group": -1},
    ANALYSIS + "StandardTokenizerV2": {"maxTokenLength": 255},
    ANALYSIS + "UaxUrlEmailTokenizer": {"maxTokenLength": 255},
    ANALYSIS + "AsciiFoldingTokenFilter": {"preserveOriginal": False},
    ANALYSIS + "CjkBigramTokenFilter": {"ignoreScripts": [], "outputUnigrams": False},
    ANALYSIS + "CommonGramTokenFilter": {"ignoreCase": False, "queryMode": False},
    ANALYSIS + "DictionaryDecompounderTokenFilter": {
        "minWordSize": 5,
        "minSubwordSize": 2,
        "maxSubwordSize": 15,
        "onlyLongestMatch": False,
    },
    ANALYSIS + "EdgeNGramTokenFilterV2": {"minGram": 1, "maxGram": 2, "side": "front"},
    ANALYSIS + "ElisionTokenFilter": {"articles": []},
    ANALYSIS + "KeepTokenFilter": {"keepWordsCase": False},
    ANALYSIS + "KeywordMarkerTokenFilter": {"ignoreCase": False},
    ANALYSIS + "LengthTokenFilter": {"min": 0, "max": 300},
    ANALYSIS + "LimitTokenFilter": {"maxTokenCount": 1, "consumeAllTokens": False},
    ANALYSIS + "NGramTokenFilterV2": {"minGram": 1, "maxGram": 2},
    ANALYSIS + "PatternCaptureTokenFilter": {"preserveOriginal": True},
    ANALYSIS + "PhoneticTokenFilter": {"encoder": "metaphone", "replace": True},
    ANALYSIS + "ShingleTokenFilter": {
        "maxShingleSize": 2,
        "minShingleSize": 2,
        "outputUnigrams": True,
        "outputUnigramsIfNoShingles": False,
        "tokenSeparator": " ",
        "filterToken": "_",
    },
    ANALYSIS + "StopwordsTokenFilter": {
        "stopwords": [],
        "stopwordsList": "english",
        "ignoreCase": False,
        "removeTrailing": True,
    },
    ANALYSIS + "SynonymTokenFilter": {"ignoreCase": False, "expand": True},
    ANALYSIS + "TruncateTokenFilter": {"length": 300},
    ANALYSIS + "UniqueTokenFilter": {"onlyOnSamePosition": False},
    ANALYSIS + "WordDelimiterTokenFilter": {
        **dict.fromkeys(("generateWordParts", "generateNumberParts", "splitOnCaseChange", "splitOnNumerics"), True),
        **dict.fromkeys(("catenateWords", "catenateNumbers", "catenateAll", "preserveOriginal"), False),
        "stemEnglishPossessive": True,
        "protectedWords": [],
    },
    SKILLS + "Custom.WebApiSkill": dict.fromkeys(("timeout", "batchSize", "httpHeaders")),
    SKILLS + "Text.EntityRecognitionSkill": {
        "categories": [],
        **dict.fromkeys(("minimumPrecision", "includeTypelessEntities", "defaultLanguageCode")),
    },
    SKILLS + "Text.KeyPhraseExtractionSkill": dict.fromkeys(("defaultLanguageCode", "maxKeyPhraseCount")),
    SKILLS + "Text.MergeSkill": dict.fromkeys(("insertPreTag", "insertPostTag")),
    SKILLS + "Text.SentimentSkill": {"defaultLanguageCode": None},
    SKILLS + "Text.SplitSkill": dict.fromkeys(("defaultLanguageCode", "maximumPageLength")),
    SKILLS + "Text.TranslationSkill": dict.fromkeys(("defaultFromLanguageCode", "suggestedFrom")),
    SKILLS + "Vision.ImageAnalysisSkill": {"defaultLanguageCode": None, "visualFeatures": [], "details": []},
    SKILLS + "Vision.OcrSkill": dict.fromkeys(
        ("textExtractionAlgorithm", "lineEnding", "detectOrientation", "defaultLanguageCode")
    ),
}
SKILL = dict.fromkeys(("name", "description", "context"))
SHAPER = SKILLS + "Util.ShaperSkill"  # the only skill whose inputs have inputs


def complete_part(given: Json) -> Json:
    """Fill in the members that a part of its kind has."""
    defaults = dict(DEFAULTS.get(str(given.get("@odata.type")), {}))
    if given.get("stopwords") and "stopwordsList" in defaults:
        defaults["stopwordsList"] = None  # words of one's own stand for the list of a language
    given_members = {name: value for name, value in given.items() if value is not None}
    return {**dict.fromkeys(given), **defaults, **given_members}


def complete_skill(given: Json) -> Json:
    """Fill in the members that a skill of its kind has, also of its inputs and their inputs."""
    inputs = [_complete_input(one) for one in given.get("inputs") or []]
    return {**SKILL, **complete_part(given), "inputs": inputs}


def has_nested_inputs(skill: Json) -> bool:
    return any(one.get("inputs") for one in skill.get("inputs") or [])


def _complete_input(given: Json) -> Json:
    inputs = [_complete_input(one) for one in given.get("inputs") or []]
    return {"source": None, "sourceContext": None, **given, "inputs": inputs}
