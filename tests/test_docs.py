"""Names of files, modules and functions that the pages mention exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "indextables"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ROOMS = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
IN_BACKTICKS = re.compile(r"`([^`\n]+)`")
A_FILE = re.compile(r"[\w./*-]+\.(?:py|md)\b")
A_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
DOTTED = re.compile(r"[a-z_]+(?:\.\w+)+")


def missing_files(text: str, page: Path) -> list[str]:
    """Files in backticks that are not below the root, the package or the page, nor beside the file before them in the line."""
    missing = []
    for line in text.splitlines():
        beside: list[Path] = []
        for quoted in IN_BACKTICKS.findall(line):
            for name in A_FILE.findall(quoted) if " " not in quoted else ():
                found = [place / name for place in [ROOT, PACKAGE, page.parent, *beside] if list(place.glob(name))]
                if found:
                    beside = [found[0].parent]
                else:
                    missing.append(name)
    return missing


def is_there(dotted: str) -> bool:
    """Whether a dotted name below the package is a module, or a name inside one, fields of dataclasses included."""
    parts = ["indextables", *dotted.removeprefix("indextables.").split(".")]
    for length in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError as error:
            if not str(error.name).startswith("indextables"):  # pyspark is not installed: then the source must do
                text = PACKAGE.joinpath(*parts[1:length]).with_suffix(".py").read_text()
                return all(re.search(rf"(?:def|class) {name}\b", text) for name in parts[length:])
            continue
        for name in parts[length:]:
            if not hasattr(value, name) and name not in getattr(value, "__annotations__", {}):
                return False
            value = getattr(value, name, None)
        return True
    return False


def dotted_names(text: str) -> list[str]:
    """Names in backticks that begin with a room of the package, such as `log.commit.commit`."""
    quoted = [match.removesuffix("()") for match in IN_BACKTICKS.findall(text)]
    return [
        name
        for name in quoted
        if DOTTED.fullmatch(name) and name.split(".")[0] in ROOMS and not name.endswith((".py", ".md"))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_links_exist(page: Path) -> None:
    text = page.read_text()
    assert missing_files(text, page) == []
    links = [link for link in A_LINK.findall(text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    "page",
    sorted([*(ROOT / "docs" / "design").glob("*.md"), *(ROOT / "docs" / "contributing").glob("*.md")]),
    ids=lambda page: page.name,
)
def test_modules_and_functions_exist(page: Path) -> None:
    assert [name for name in dotted_names(page.read_text()) if not is_there(name)] == []


def test_commands_are_those_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)) - {"help"}
    listed = set(re.findall(r"^\| `make ([a-z-]+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    assert listed == targets
    mentioned = {name for page in PAGES for name in re.findall(r"`make ([a-z-]+)`", page.read_text())}
    assert mentioned <= targets


def test_a_name_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert missing_files("`split/reader.py`, `nothing.py` and `log/none.py`", page) == ["nothing.py", "log/none.py"]
    assert missing_files("`split/bundle/footer.py`, `bundle_writer.py`", page) == []
    names = dotted_names(
        "`log.commit.commit` calls `log.commit.nobody`, `table.nowhere` and `table.append()` of a caller's table"
    )
    assert names == ["log.commit.commit", "log.commit.nobody", "table.nowhere", "table.append"]
    assert [is_there(name) for name in names] == [True, False, False, False]
