"""The child process that recognises text: it limits itself, and then becomes tesseract, which reads a picture.

The picture was written by our own renderer in another child: tesseract sees no bytes of the uploaded file.
"""

import json
import os
import sys

from rag_core.ingestion.sandbox_child import limit_resources

MAX_OPEN_FILES = 64  # of tesseract: its models and libraries; no more than one at a time is written


def run_tesseract(program: str, languages: str, cpu_limit_s: int) -> None:
    """Replace this process by tesseract; it reads a picture on its standard input and writes its words as TSV."""
    limit_resources(cpu_limit_s, open_files=MAX_OPEN_FILES)
    arguments = [program, "stdin", "stdout", "-l", languages, "--psm", "1", "tsv"]  # 1: turned pages are recognised
    os.execve(program, arguments, {"OMP_THREAD_LIMIT": "1"})  # noqa: S606 - no shell, the path is whole


if __name__ == "__main__":
    chosen_program, chosen_languages = json.loads(sys.argv[1])
    run_tesseract(chosen_program, chosen_languages, int(sys.argv[2]))
