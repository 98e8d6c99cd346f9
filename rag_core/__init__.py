"""The domain: a scoped question becomes evidence becomes a cited answer."""
