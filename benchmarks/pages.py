"""Write generated tables into the Markdown pages that show them, between two markers."""

import re

import problems


def fill(page: str, mark: str, text: str) -> None:
    """Replace the text between `<!-- mark -->` and `<!-- /mark -->` in a page of the repository, and print it."""
    print(text)
    path = problems.REPOSITORY / page
    old = path.read_text(encoding="utf-8")
    pattern = rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)"
    new, found = re.subn(pattern, lambda match: f"{match[1]}{text}\n{match[2]}", old, flags=re.DOTALL)
    if found != 1:
        raise SystemExit(f"{page}: expected one block between <!-- {mark} --> markers, found {found}.")
    path.write_text(new, encoding="utf-8")
