"""The HTTP interface: strict reading of requests, strict JSON replies, and the mapping of errors to statuses."""
