"""HTTP: reads strictly, replies strictly, knows azure.functions and rag_core's public names."""
