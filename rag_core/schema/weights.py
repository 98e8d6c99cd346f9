"""Weights of the linker's features, in the three steps of `rag_core.schema.linking`.

They were fitted by `python -m evals.sql_schema DIR --fit` on 23 November 2026: ridge logistic regression on every
second question of BIRD mini-dev (138 questions of six databases). A feature of 0 tells nothing; the chance is
1 / (1 + exp(-sum)).
"""

from collections.abc import Mapping

CONTENT_WEIGHTS: Mapping[str, float] = {  # of a column whose values are asked for
    "bias": -2.921,
    "meaning": 0.569,
    "near meaning": 0.028,
    "phrase": -0.108,
    "near phrase": 0.333,
    "place for a phrase": 0.728,
    "best of the table": -0.296,
    "mean of the table": 0.384,
    "name covered": 0.314,
    "rarest word of the name": 0.104,
    "words of the description": 0.206,
    "label covered": -0.075,
    "table named": 0.697,
    "columns": -0.494,
    "cued": 0.236,
    "value": 1.298,
    "longer value": 0.538,
    "is a name": 0.845,
    "is a name of a named table": 0.185,
    "is a person's name and one is asked": 1.156,
    "is a name and one is asked": -0.013,
    "is a name and something is quoted": -0.143,
    "is a date": 0.233,
    "is a date and one is asked": 0.433,
    "is text": -0.03,
    "has one value": 0.01,
    "null share": -0.581,
    "named by a key": 0.201,
    "meant by a key": 0.627,
}
KEY_WEIGHTS: Mapping[str, float] = {  # of a column of a key, by itself
    "bias": -3.112,
    "meaning": -0.351,
    "near meaning": 0.081,
    "phrase": 0.114,
    "near phrase": 0.183,
    "place for a phrase": 0.924,
    "best of the table": 0.212,
    "mean of the table": 0.644,
    "name covered": -0.086,
    "rarest word of the name": 0.566,
    "words of the description": -0.041,
    "label covered": -0.042,
    "table named": 1.048,
    "columns": 0.002,
    "is primary": 0.32,
    "is primary of a counted table": 0.687,
}
TABLE_WEIGHTS: Mapping[str, float] = {  # of a table, by the chances of its columns
    "bias": -0.405,
    "key into it": 0.268,
    "key into a small one": -0.371,
    "columns": 0.904,
    "best column": 0.579,
    "second column": 0.102,
    "three columns": 0.486,
    "best key": 0.793,
    "named": -0.219,
    "fully named": 0.065,
    "only keys": 1.261,
    "value": 1.273,
    "is small": 0.165,
    "joins": 0.664,
}
JOINED_WEIGHTS: Mapping[str, float] = {  # of a column, once the likely tables are known
    "bias": -0.049,
    "column": 1.076,
    "table": 0.096,
    "table's chance": 0.14,
    "is key": -2.358,
    "key": -0.641,
    "key's table": -0.005,
    "direct join": 1.79,
    "certain join": 1.122,
    "frequent join": 1.825,
    "first table": -0.342,
    "date of the table": 1.337,
    "name of the table": 0.291,
}
