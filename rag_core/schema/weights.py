"""Weights of the linker's features, in the three steps of `rag_core.schema.linking`.

They were fitted by `python -m evals.sql_schema DIR --fit` on 24 November 2026: ridge logistic regression on every
second question of BIRD mini-dev (138 questions of six databases). A feature of 0 tells nothing; the chance is
1 / (1 + exp(-sum)).
"""

from collections.abc import Mapping

CONTENT_WEIGHTS: Mapping[str, float] = {  # of a column whose values are asked for
    "bias": -4.187,
    "meaning": 0.431,
    "near meaning": 0.075,
    "phrase": 0.136,
    "near phrase": 0.236,
    "place for a phrase": 0.68,
    "best of the table": -0.224,
    "mean of the table": 0.344,
    "name covered": 0.34,
    "rarest word of the name": 0.106,
    "words of the description": 0.199,
    "label covered": -0.067,
    "table named": 0.685,
    "columns": -0.177,
    "cued": 0.314,
    "value": 1.798,
    "longer value": 0.201,
    "is a name": 0.898,
    "is a name of a named table": 0.112,
    "is a person's name and one is asked": 0.998,
    "is a name and one is asked": 0.283,
    "is a name of a table of which one is named": 0.124,
    "is a name and something is quoted": -0.134,
    "is a date": 0.172,
    "is a date and one is asked": 0.393,
    "is a person's name and a person is asked": 0.073,
    "is text": 0.065,
    "is a number": -0.226,
    "is a number and some are compared": 0.173,
    "is a date and some are ordered": 0.492,
    "is a place": -0.51,
    "is a place and one is asked": 0.441,
    "has one value": -0.015,
    "null share": -0.62,
    "named by a key": 0.265,
    "meant by a key": 0.733,
}
KEY_WEIGHTS: Mapping[str, float] = {  # of a column of a key, by itself
    "bias": -4.072,
    "meaning": -0.484,
    "near meaning": 0.137,
    "phrase": 0.274,
    "near phrase": 0.099,
    "place for a phrase": 0.941,
    "best of the table": 0.24,
    "mean of the table": 0.68,
    "name covered": -0.017,
    "rarest word of the name": 0.542,
    "words of the description": -0.024,
    "label covered": -0.025,
    "table named": 1.04,
    "columns": 0.286,
    "is primary": 0.52,
    "is primary of a counted table": 0.6,
}
TABLE_WEIGHTS: Mapping[str, float] = {  # of a table, by the chances of its columns
    "bias": -0.339,
    "key into it": 0.208,
    "key into a small one": -0.378,
    "columns": 0.583,
    "best column": 0.572,
    "second column": 0.057,
    "three columns": 0.383,
    "best key": 0.71,
    "named": -0.036,
    "fully named": 0.227,
    "only keys": 0.883,
    "value": 1.798,
    "is small": 0.192,
    "joins": 0.736,
}
JOINED_WEIGHTS: Mapping[str, float] = {  # of a column, once the likely tables are known
    "bias": 0.048,
    "column": 1.119,
    "table": 0.018,
    "table's chance": 0.044,
    "is key": -2.656,
    "key": -0.788,
    "key's table": 0.079,
    "direct join": 1.792,
    "certain join": 1.278,
    "frequent join": 1.811,
    "first table": -0.103,
    "date of the table": 1.618,
    "name of the table": 0.28,
    "person's name of the table": 0.678,
    "unique text of the table": 0.29,
    "place of the table": 1.153,
}
# of what past questions lift a table or a column, added to the log odds: by leaving out each question of that half in
# turn, `python -m evals.schema_past_questions DIR`
PAST_WEIGHT = 2.0
