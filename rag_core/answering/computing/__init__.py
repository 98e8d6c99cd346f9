"""Answers that are computed from the cells of tables and the items of lists: counts, sums, differences and the like."""
