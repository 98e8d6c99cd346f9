"""The chunk stores, one adapter each; all of them pass tests/contracts/test_chunk_store.py."""
