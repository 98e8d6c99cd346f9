"""The neighbours, on this machine."""
