"""The clients of `python -m evals.agent_doors`: each runs in an environment that has its library, and prints a result.

Each is started with the address of a server that holds the documents of examples/.
"""
