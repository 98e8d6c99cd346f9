"""Weights of the linker's features, in the three steps of `rag_core.schema.linking`.

They were fitted by `python -m evals.sql_schema DIR --fit` on 23 November 2026: ridge logistic regression on every
second question of BIRD mini-dev (138 questions of six databases). A feature of 0 tells nothing; the chance is
1 / (1 + exp(-sum)).
"""

from collections.abc import Mapping

CONTENT_WEIGHTS: Mapping[str, float] = {  # of a column whose values are asked for
    "bias": -4.103,
    "meaning": 0.465,
    "near meaning": 0.064,
    "phrase": 0.132,
    "near phrase": 0.239,
    "place for a phrase": 0.712,
    "best of the table": -0.257,
    "mean of the table": 0.364,
    "name covered": 0.338,
    "rarest word of the name": 0.082,
    "words of the description": 0.202,
    "label covered": -0.069,
    "table named": 0.662,
    "columns": -0.241,
    "cued": 0.303,
    "value": 1.16,
    "longer value": 0.358,
    "is a name": 0.935,
    "is a name of a named table": 0.085,
    "is a person's name and one is asked": 1.11,
    "is a name and one is asked": 0.227,
    "is a name and something is quoted": -0.178,
    "is a date": 0.349,
    "is a date and one is asked": 0.443,
    "is text": 0.162,
    "has one value": 0.002,
    "null share": -0.671,
    "named by a key": 0.291,
    "meant by a key": 0.831,
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
    "bias": -0.523,
    "key into it": 0.207,
    "key into a small one": -0.237,
    "columns": 0.603,
    "best column": 0.578,
    "second column": 0.065,
    "three columns": 0.398,
    "best key": 0.615,
    "named": 0.022,
    "fully named": 0.291,
    "only keys": 1.228,
    "value": 0.969,
    "is small": 0.561,
    "joins": 0.799,
}
JOINED_WEIGHTS: Mapping[str, float] = {  # of a column, once the likely tables are known
    "bias": 0.139,
    "column": 1.09,
    "table": 0.038,
    "table's chance": -0.013,
    "is key": -2.447,
    "key": -0.669,
    "key's table": 0.049,
    "direct join": 1.669,
    "certain join": 0.957,
    "frequent join": 1.881,
    "first table": -0.184,
    "date of the table": 1.338,
    "name of the table": 0.218,
}
