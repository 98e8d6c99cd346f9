"""From bytes to chunks that can be searched and cited."""
