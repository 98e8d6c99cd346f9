"""Labelled questions, the commands that score pipelines, and benchmarks against peers."""
