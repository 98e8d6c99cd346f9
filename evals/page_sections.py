"""Sections of pages that are made from results or code, between two comments."""


def fill_section(page: str, name: str, text: str) -> str:
    """Return the page with the text between the two comments of this name.

    Raises:
        ValueError: the page lacks the comments.
    """
    begin, end = f"<!-- {name}: begin -->\n", f"\n<!-- {name}: end -->"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"the page has no section {name}")
    return before + begin + text.strip() + end + after
