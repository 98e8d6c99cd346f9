"""The stages one at a time: a question is kept, and each step adds what it made of it."""
