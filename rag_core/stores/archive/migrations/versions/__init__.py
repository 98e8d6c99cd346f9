"""The revisions, oldest first: each a step that is never changed once it was released."""
