"""`rag check`, `rag backup` and `rag restore-backup`: the data folder of the embedded store as a whole."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rag_core.answering.citation_styles import to_printable_line
from rag_core.cli.json_output import print_json
from rag_core.cli.opened_service import load_command_settings

MAX_LISTED_DOCUMENTS = 20


def run_check_command(arguments: Namespace) -> int:
    """Print what was checked and what is damaged. Return 1 for a damage that was not repaired."""
    from rag_core.composition import data_folder

    report = data_folder.check_data_folder(_load_data_dir(arguments), repair=arguments.repair)
    if arguments.json:
        print_json(report)
        return 1 if report.remaining else 0
    print("Checked: " + "; ".join(report.checked))
    print("\n".join(map(to_printable_line, report.damages)) or "No damage was found.")
    if report.advice:
        print(f"What to do: {report.advice}")
    for repair in report.repairs:
        print(f"Repaired: {to_printable_line(repair)}")
    if report.repairs:
        print("\n".join(f"Not repaired: {damage}" for damage in report.remaining), end="\n" if report.remaining else "")
    if report.outdated:
        print(_describe_outdated(report.outdated))
    return 1 if report.remaining else 0


def _describe_outdated(documents: Sequence[str]) -> str:
    """Name documents of an older reading, and how they are renewed; nothing has to be done."""
    from rag_core.cli.terminal_layout import format_count  # with rich, which a deployment does not have

    count = format_count(len(documents), "document")
    listed = "".join(f"\n  {document}" for document in documents[:MAX_LISTED_DOCUMENTS])
    more = len(documents) - MAX_LISTED_DOCUMENTS
    rest = f"\n  and {more} more (rag check --json names all)" if more > 0 else ""
    return (
        f"{count} read by an older version, which finds fewer entities and titles:{listed}{rest}\n"
        "To renew them, repeat the command that indexed them (rag index PATH, rag ingest, rag index --database URL), "
        "or press Re-index on the page Documents. Only what changed is embedded again."
    )


def run_backup_command(arguments: Namespace) -> int:
    """Back the data folder up and print the files of the backup."""
    from rag_core.composition import data_folder

    files = data_folder.back_up_data_folder(_load_data_dir(arguments), arguments.folder)
    if arguments.json:
        print_json({"folder": arguments.folder, "files": files})
    else:
        print(f"{arguments.folder}: {', '.join(files)}; read back and whole")
    return 0


def run_restore_backup_command(arguments: Namespace) -> int:
    """Fill a new data folder from a backup and print the files."""
    from rag_core.composition import data_folder

    data_dir = _load_data_dir(arguments)
    files = data_folder.restore_backup(arguments.folder, data_dir)
    print_json({"folder": data_dir, "files": files}) if arguments.json else print(f"{data_dir}: {', '.join(files)}")
    return 0


def _load_data_dir(arguments: Namespace) -> Path:
    from rag_core.composition import index_assembly

    return index_assembly.require_data_dir(load_command_settings(arguments))
