"""Where chunks are kept: one adapter a store, all held to tests/contracts/test_chunk_store.py."""
