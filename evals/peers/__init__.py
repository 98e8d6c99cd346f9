"""The contestants of `evals.bench_store`, each in a process and an environment of its own."""
