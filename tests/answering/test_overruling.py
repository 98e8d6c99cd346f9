"""No judge's yes stands on a number, unit or date that the passages do not have; its true twin stays supported.

The passages are laid out as guidelines, contracts and reports lay them out: ranges, pairs, units in the heads of
tables, separators, percentages, ordinals, fractions, words for numbers, and dates.
"""

import pytest

from rag_core.answering.citations import evidence_from_hits, rank_passages_for_judge
from rag_core.answering.overruling import UNCLEAR_SUPPORT, overrule_by_facts
from rag_core.core.model import Chunk, Finding, Hit, Judgement

PRESSURE = (
    "| Group | Target office BP (mmHg) | Review |\n| --- | --- | --- |\n| After a stroke | below 130/80 | 4 weeks |"
)
GLUCOSE = (
    "| CFS score | HbA1c target | Fasting glucose | Checked |\n| --- | --- | --- | --- |\n"
    "| 5 | 53 to 64 mmol/mol (7.0 to 8.0 %) | 6 to 9 mmol/l | every 6 months |\n"
    "| 6 to 7 | 58 to 69 mmol/mol (7.5 to 8.5 %) | 7 to 10 mmol/l | every 6 months |"
)
SALES = "| (in millions) | 2023 | 2022 |\n| --- | --- | --- |\n| Net sales | $1,204 | $987 |\n| Employees | 310 | 290 |"
WEIGHTS = "| Model | Weight, kg | Reach (cm) | Price (EUR) |\n| --- | --- | --- | --- |\n| Crane A | 70 | 240 | 1,250 |"
INR = "Warfarin is kept for 4 weeks, with a target INR of 2.0 to 2.5 for as long as clopidogrel is taken, for 5 days."
SURGERY = (
    "Elective surgery is postponed for at least 3 months after a stent and at least 6 months after an infarction. "
    "Triple therapy lasts 12 months."
)
FARE = (
    "A day ticket costs 1,250 yen, children pay half, and groups of 15 or more save 20 percent. The lift runs 2.5 km."
)
TERM = "The lease was signed on 15 March 2021, runs for five years and may be ended with three months' notice."
NOTICE = (
    "Notice takes effect on the third working day. On the fourth day access ends. The deposit of two rents is repaid."
)
FILE = "Exports up to 512 MB are kept for 72 hours; larger ones are split into parts of 100,000 rows each."
DOSE = (
    "Give 7.5 mg in the evening and 2.5 mg in the morning, at most 10 mg a day, twice weekly to those under 12 years."
)
SPEED = "The belt moves at 12 km/h, stops within 0.4 s and is checked every 250 hours at 20 °C."
VOTE = "A change needs two thirds of the votes; 45 of 60 members voted, and a quarter of them abstained."
TIMES = "The office is open from 8:30 to 16:45 and sells tickets until 15 minutes before closing."
FUND = "The fund paid £2.4 million in 2019 and £310,000 in 2020, over 41 grants of between £5,000 and £90,000."
LOT = "Lot 7 (hall 2) weighs 3 t and is sold for 18'500 francs; the viewing is on 04.09.2023 from 9 to 11 a.m."

# passage, a true claim in other words, and false ones that differ in a number, unit or date
CASES: list[tuple[str, str, tuple[str, ...]]] = [
    (
        PRESSURE,
        "Once somebody has had a stroke the pressure should be under 130/80 mmHg.",
        (
            "Once somebody has had a stroke the pressure should be under 260/160 mmHg.",
            "Once somebody has had a stroke the pressure should be under 65/40 mmHg.",
            "Once somebody has had a stroke the pressure should be under 131/81 mmHg.",
            "Once somebody has had a stroke the pressure should be under 130/90 mmHg.",
            "Once somebody has had a stroke the pressure should be under 80/130 mmHg.",
            "Once somebody has had a stroke the pressure should be under 130/80 kPa.",
        ),
    ),
    (
        PRESSURE,
        "130 over 80 is the limit to stay below in such patients, looked at again a month later, after 4 weeks.",
        (
            "130 over 85 is the limit to stay below in such patients.",
            "260 over 160 is the limit to stay below in such patients.",
            "The first look again in such patients comes 8 weeks later.",
            "The first look again in such patients comes 4 days later.",
        ),
    ),
    (
        GLUCOSE,
        "With a score of 6, glycated haemoglobin should lie between 58 and 69 mmol/mol, that is 7.5 to 8.5 %.",
        (
            "With a score of 6, glycated haemoglobin should lie between 116 and 138 mmol/mol, that is 15 to 17 %.",
            "With a score of 6, glycated haemoglobin should lie between 58 and 70 mmol/mol.",
            "With a score of 6, glycated haemoglobin should lie between 58 and 69 mg/dl.",
            "With a score of 6, glycated haemoglobin should lie at 7.5 to 9.5 %.",
        ),
    ),
    (
        GLUCOSE,
        "On an empty stomach 7–10 mmol/l are aimed for when the score is six or seven.",
        (
            "On an empty stomach 14–20 mmol/l are aimed for when the score is six or seven.",
            "On an empty stomach 7–10 mg/l are aimed for when the score is six or seven.",
            "It is measured again every 6 weeks when the score is six or seven.",
            "It is measured again every twelve months when the score is six or seven.",
        ),
    ),
    (
        SALES,
        "Net sales came to 1.204 billion dollars in 2023, after 987 million.",
        (
            "Net sales came to 2.408 billion dollars in 2023.",
            "Net sales came to $1,205 million in 2023.",
            "Net sales came to 1,204 billion dollars in 2023.",
            "Net sales came to €1,204 million in 2023.",
            "Net sales came to $1,204 million in 2024.",
            "The number of people employed was 311 in 2023.",
        ),
    ),
    (
        WEIGHTS,
        "Crane A reaches 2.4 metres, weighs 70 kilograms and sells for 1250 euros.",
        (
            "Crane A reaches 4.8 metres.",
            "Crane A reaches 240 metres.",
            "Crane A weighs 140 kilograms.",
            "Crane A weighs 70 pounds.",
            "Crane A sells for 1250 dollars.",
            "Crane A sells for 1,251 euros.",
            "Crane A sells for 625 euros.",
        ),
    ),
    (
        INR,
        "While that drug is on board, aim for a ratio between 2.0 and 2.5.",
        (
            "While that drug is on board, aim for a ratio between 4.0 and 5.0.",
            "While that drug is on board, aim for a ratio between 1.0 and 1.25.",
            "While that drug is on board, aim for a ratio between 3.0 and 3.5.",
            "The coumarin goes on for 4 days.",
            "The coumarin goes on for eight weeks.",
        ),
    ),
    (
        SURGERY,
        "A planned operation should wait at least half a year (6 months) after a heart attack.",
        (
            "A planned operation should wait at least half a year (12 months) after a heart attack.",
            "A planned operation should wait at least half a year (3 months) after a heart attack.",
            "A planned operation should wait at least 7 months after a heart attack.",
            "A planned operation should wait at least 6 weeks after a heart attack.",
            "Elective surgery has to be postponed for at least 12 months after an infarction.",
        ),
    ),
    (
        FARE,
        "For one day you pay ¥1,250; from fifteen people on there is a fifth off, and the lift is 2,500 metres long.",
        (
            "For one day you pay ¥2,500.",
            "For one day you pay ¥1,251.",
            "For one day you pay €1,250.",
            "From thirty people on there is something off.",
            "A group saves 40 % of the fare.",
            "A group saves 10 % of the fare.",
            "A group saves a third of the fare.",
            "A group saves 20 yen on each fare.",
            "The lift is 2.5 miles long.",
            "The lift is 5 km long.",
            "Children pay a third of the fare.",
        ),
    ),
    (
        TERM,
        "It has been in force since 03/15/2021 for 5 years and can be terminated 3 months ahead.",
        (
            "It has been in force since 03/16/2021.",
            "It has been in force since 2021-04-15.",
            "It was concluded on the 15th of March 2022.",
            "It was concluded on March 30, 2021.",
            "It was concluded on 15 May 2021.",
            "It is in force for ten years.",
            "It is in force for six years.",
            "It is in force for five months.",
            "It can be terminated three weeks ahead.",
            "It can be terminated one month ahead.",
        ),
    ),
    (
        NOTICE,
        "It becomes effective on the 3rd working day, and two monthly payments come back as security.",
        (
            "It becomes effective on the 6th working day.",
            "It becomes effective on the second working day.",
            "It becomes effective on the fifth working day.",
            "Four monthly payments come back as security.",
        ),
    ),
    (
        FILE,
        "A file of 512 megabytes can be fetched for three days; bigger ones come in pieces of 100 000 lines.",
        (
            "A file can be fetched for six days.",
            "A file can be fetched for a whole month.",
            "A file can be fetched for 72 days.",
            "A file can be fetched for 36 hours.",
            "The limit is 1,024 megabytes.",
            "The limit is 512 GB.",
            "Bigger ones come in pieces of 200 000 lines.",
            "Bigger ones come in pieces of 1,000,000 lines.",
            "Bigger ones come in pieces of 100 lines.",
            "Bigger ones come in pieces of fifty thousand lines.",
        ),
    ),
    (
        DOSE,
        "In the morning 2.5 milligrams are given, later in the day 7.5, and never over 10 mg.",
        (
            "In the morning 5 milligrams are given.",
            "In the morning 1.25 milligrams are given.",
            "In the morning 2.5 grams are given.",
            "In the evening 15 milligrams are given.",
            "Never over 20 mg are given.",
            "Children below 24 have it less often.",
            "Children below 11 have it less often.",
            "Children below 12 months have it less often.",
            "Children have it four times a week.",
            "Children have it twice a day.",
        ),
    ),
    (
        SPEED,
        "It comes to a halt in 400 milliseconds from twelve kilometres an hour and is looked at after each 250 h.",
        (
            "It comes to a halt in 800 milliseconds.",
            "It comes to a halt in 0.4 minutes.",
            "It runs at 24 km/h.",
            "It runs at 12 mph.",
            "It runs at 13 km/h.",
            "It is looked at after each 500 h.",
            "It comes to a halt within a minute.",
            "It is looked at after each 250 days.",
            "It is used at 20 °F.",
            "It is used at 40 degrees.",
        ),
    ),
    (
        VOTE,
        "Two in three votes are needed, three quarters of the members took part, and 25 % of these abstained.",
        (
            "One third of the votes is needed to carry a change.",
            "Half of those who took part abstained.",
            "46 of the members took part.",
            "45 of 90 members took part.",
            "50 % of those who took part abstained.",
        ),
    ),
    (
        TIMES,
        "People can come between half past eight and 4:45 p.m., with the last sale a quarter of an hour earlier.",
        (
            "People can come until 17:45.",
            "People can come from 8:45 on.",
            "The last sale is 30 minutes earlier.",
            "The last sale is 15 hours earlier.",
            "People can come from 8:30 p.m. on.",
        ),
    ),
    (
        FUND,
        "In 2019 it gave £2.4m and a year later about £300,000; one grant was at least 5000 pounds.",
        (
            "In 2019 it gave £4.8m.",
            "In 2019 it gave £2.4 billion.",
            "In 2019 it gave $2.4m.",
            "In 2018 it gave £2.4m.",
            "In 2020 it gave 310 pounds.",
            "In 2020 it gave about £400,000.",
            "It went to 82 applicants.",
            "It went to 40 applicants.",
            "One grant was at least £10,000.",
            "One grant was at most £91,000.",
        ),
    ),
    (
        LOT,
        "It weighs three tonnes, costs 18,500 francs and can be seen on 4 September 2023 between 9 and 11.",
        (
            "It weighs six tonnes.",
            "It weighs 3 kg.",
            "It costs 37,000 francs.",
            "It costs 18,500 euros.",
            "It costs 18.5 million francs.",
            "It can be seen on 5 September 2023.",
            "It can be seen on 4 October 2023.",
            "It can be seen on 4 September 2024.",
            "It can be seen for 9 days.",
        ),
    ),
]


def judge_yes(claim: str, passage: str, question: str = "") -> list[Finding]:
    """Return what is left of a yes to a claim, for each part of the passage on which a judge may rest it."""
    found = Hit(Chunk("guide", "guide", 0, passage, "Guide", "guide.md", "guide"), 1.0)
    passages = rank_passages_for_judge(claim, evidence_from_hits([found]))
    return [
        overrule_by_facts(claim, passages, Judgement("supported", 0.95, n, judge="yes"), question).finding
        for n in range(len(passages))
    ]


@pytest.mark.parametrize(("passage", "claim"), [(passage, claim) for passage, claim, _ in CASES])
def test_a_true_claim_in_other_words_and_notations_stays_supported(passage: str, claim: str) -> None:
    assert "supported" in judge_yes(claim, passage)


@pytest.mark.parametrize(("passage", "claim"), [(passage, claim) for passage, _, false in CASES for claim in false])
def test_a_changed_number_unit_or_date_is_not_supported_whatever_a_judge_says(passage: str, claim: str) -> None:
    """S4-27: doubled, halved, moved by one, or of another unit."""
    assert "supported" not in judge_yes(claim, passage)


def test_a_number_that_only_another_passage_has_is_unclear() -> None:
    texts = ("In summer the pump is loud.", "The pump runs at 45 bar in summer and in winter.")
    hits = [Hit(Chunk(str(n), str(n), 0, text, "Guide", "guide.md", "guide"), 1.0) for n, text in enumerate(texts)]
    passages = rank_passages_for_judge("The pump runs at 45 bar in summer.", evidence_from_hits(hits))
    [deciding] = [n for n, passage in enumerate(passages) if "loud" in passage.text]
    said = Judgement("supported", 0.95, deciding, judge="yes")
    overruled = overrule_by_facts("The pump runs at 45 bar in summer.", passages, said, "")
    assert (overruled.finding, overruled.support) == ("unclear", UNCLEAR_SUPPORT)
