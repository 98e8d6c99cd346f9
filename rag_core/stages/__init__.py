"""What a pipeline is made of: each function takes only what it uses."""
