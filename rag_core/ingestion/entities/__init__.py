"""Entities of a document without a model: dates, amounts of money, codes, persons, organizations, places, products."""
