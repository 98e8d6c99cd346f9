"""`rag models` and `rag models fetch`: the models in use, and the one way in which a model is downloaded."""

from argparse import Namespace

from rag_core.cli.json_output import print_json
from rag_core.cli.opened_service import load_command_settings
from rag_core.core.errors import InvalidRequest
from rag_core.core.setting_readers import read_service_url


def run_models_command(arguments: Namespace) -> int:
    """Print the model of each role, where it is, and of a local one size, hash and licence."""
    from rag_core.composition.models_in_use import list_models_in_use

    models = list(list_models_in_use(load_command_settings(arguments)))
    if arguments.json:
        print_json(models)
        return 0
    for model in models:
        print(f"{model.role:<16}{model.name}")
        print(f"{'':<16}{model.where}")
        if model.file:
            print(f"{'':<16}{model.file.stat().st_size / 1e6:.1f} MB, sha256 {model.sha256}, {model.licence}")
    return 0


def run_models_fetch_command(arguments: Namespace) -> int:
    """Fetch a named model into a folder, after its hashes are known and before any is used."""
    from rag_core.providers import model_downloads

    if arguments.into.is_file():
        raise InvalidRequest("--into", f"must be a folder: {arguments.into} is a file")
    base_url = read_service_url("--from", arguments.base_url) if arguments.base_url else ""
    model = model_downloads.choose_download(arguments.name, arguments.sha256)
    folder = model_downloads.fetch_model(model, arguments.into, base_url)
    if arguments.json:
        print_json({"folder": folder, "files": [file.name for file in model.files], "licence": model.licence})
        return 0
    print(f"{folder}: {', '.join(file.name for file in model.files)}; every hash matches; {model.licence}")
    print(f"Set RAG_MODELS_DIR={arguments.into} to use it.")
    return 0
