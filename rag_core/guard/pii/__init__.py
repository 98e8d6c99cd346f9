"""What tells of a person, found by rule: values by grammar and checksum, names by dictionary and context."""
