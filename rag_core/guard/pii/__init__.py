"""Rules that find personal data: values by pattern and checksum, names by dictionary and context."""
