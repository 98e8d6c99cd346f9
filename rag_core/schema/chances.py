"""Chances and their log odds, in which evidence adds up."""

import math

MIN_CHANCE = 0.005  # so that a logit stays finite
MAX_LOGIT = 30.0


def compute_logit(chance: float) -> float:
    """Return log(p / (1 - p)) of a chance, kept off 0 and 1."""
    kept = min(max(chance, MIN_CHANCE), 1 - MIN_CHANCE)
    return math.log(kept / (1 - kept))


def compute_chance(logit: float) -> float:
    """Return the chance, 0..1, of log odds."""
    return 1 / (1 + math.exp(-max(-MAX_LOGIT, min(MAX_LOGIT, logit))))


def add_evidence(chance: float, log_odds: float) -> float:
    """Return a chance after further evidence; without any it stays as it is."""
    return compute_chance(compute_logit(chance) + log_odds) if log_odds else chance
