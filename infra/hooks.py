"""What `azd` runs on its way (azure.yaml): the index, then a health check; before deletion, what is lost.

azd gives the outputs of main.bicep as variables of the environment.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable

TRIES = 20  # a role that was just assigned takes some minutes to be known everywhere
PAUSE_S = 30.0
LOST = """`azd down` deletes for good:
  - every indexed document, and the originals and jobs in the storage account;
  - saved queries, edited presets and prompts, if PostgreSQL is the store; elsewhere they end with their instance;
  - logs and traces.
Azure keeps the OpenAI and Document Intelligence accounts for 48 hours: `azd down --purge` deletes these at once.
Documents can be indexed again from their files; the rest can be saved first by `rag backup` (embedded) or `pg_dump`."""
POSTGRES = """PostgreSQL admits the app only after statements of its administrator, which docs/guide/deploy.md has.
Then run `rag setup`."""


def run_rag(*words: str) -> int:
    """Run a command of `rag` in this process, and return its exit code."""
    from rag_core.cli import main

    return main(list(words))


def set_up_store(rag: Callable[..., int] = run_rag, pause: Callable[[float], None] = time.sleep) -> int:
    """Run `rag setup` and then `rag doctor --live`, each until the roles are known; return 1 when one goes on failing.

    The roles of the models and of the search service become known at different times, and a hook that fails ends
    `azd up` before the app is deployed.
    """
    if os.environ.get("POSTGRES_ADDRESS"):
        print(POSTGRES)
        return 0
    steps = [("setup",), ("doctor", "--live")]
    for left in reversed(range(TRIES)):
        while steps and rag(*steps[0]) == 0:
            steps.pop(0)
        if not steps:
            return 0
        if left:
            waited = f"The next try is in {PAUSE_S:.0f} s."
            print(f"rag {steps[0][0]} failed; new roles take some minutes. {waited}", flush=True)
            pause(PAUSE_S)
    print(f"rag {steps[0][0]} failed. Mend what it names, then run `azd up` again: it goes on where it stopped.")
    return 1


def check_health(pause: Callable[[float], None] = time.sleep) -> int:
    """Ask the app for its health until it answers; return 1 when it does not, or says that a part is broken.

    A PostgreSQL that has not admitted the app yet is no failure: its administrator can do so only now.
    """
    url = f"{os.environ['RAG_FUNCTIONS_URL']}/api/health"
    reason, is_up = "", False
    for _ in range(TRIES):
        try:
            with urllib.request.urlopen(url, timeout=60) as reply:  # noqa: S310 - the address is an output of main.bicep
                print(json.dumps(json.load(reply), indent=2))
                return 0
        except (urllib.error.URLError, TimeoutError, ValueError) as error:
            reason = str(error)
            is_up = isinstance(error, urllib.error.HTTPError) and error.code == 503
            pause(PAUSE_S / 3)
    if is_up and os.environ.get("POSTGRES_ADDRESS"):
        print(f"The app is deployed, and its store does not answer it yet. {POSTGRES}")
        return 0
    print(f"{url} does not answer: {reason}. What the app says: `azd monitor --logs`.")
    print("What its deployment said: `az functionapp log deployment show`, with -g and -n.")
    return 1


def main(hook: str) -> int:
    match hook:
        case "postprovision":
            return set_up_store()
        case "postdeploy":
            return check_health()
        case "predown":
            print(LOST)
            return 0
        case _:
            print("must be postprovision, postdeploy or predown")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1]))
