"""Ingestion: extract the text of documents, split it into chunks that can be cited, and index them."""
