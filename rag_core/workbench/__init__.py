"""The workbench: a saved query is taken through the stages of a pipeline one step at a time."""
