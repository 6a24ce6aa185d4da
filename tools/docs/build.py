"""Build the site of this version strictly into site/VERSION, and check what Sphinx does not.

Warnings are errors. Links between files of the repository must lead somewhere, and pages must not
fetch anything from the network.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from unskew import __version__

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
_IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?:)([^)\s]+)\)")
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]+src=["'](?:https?:)?//[^"']+"""
    r"""|<link[^>]+rel=["'](?:stylesheet|preload|preconnect|icon)["'][^>]+href=["'](?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//"""
)


def broken_links() -> list[str]:
    """Links in Markdown files that lead to no file, or to no heading of it."""
    found = []
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target, anchor in _LINK.findall(text):
            aim = (path.parent / target) if target else path
            if not aim.exists():
                found.append(f"{path.relative_to(ROOT)}: {target} is not there")
            elif anchor and anchor not in _anchors(aim):
                found.append(f"{path.relative_to(ROOT)}: {target}#{anchor} has no such heading")
        found += [
            f"{path.relative_to(ROOT)}: the picture {target} is not there"
            for target in _IMAGE.findall(text)
            if not (path.parent / target).exists()
        ]
    return found


def _anchors(path: Path) -> set[str]:
    """The headings of a document as GitHub and MyST name them."""
    heads = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def fetched(folder: Path) -> list[str]:
    """What pages and styles would fetch from the network."""
    return [
        f"{path.relative_to(folder)}: {match[0][:120]}"
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".html", ".css")
        for match in _FETCHED.finditer(path.read_text())
    ]


def build() -> Path:
    """The pages of this version; Sphinx stops at the first kind of warning."""
    folder = SITE / __version__
    shutil.rmtree(folder, ignore_errors=True)
    words = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(SITE / ".doctrees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, str(ROOT / "docs"), str(folder)], check=False
    )
    if done.returncode:
        sys.exit("the documents have warnings; see above")
    return folder


def list_versions() -> None:
    """A list of the versions that are there, and a first page that leads to the newest."""
    names = [path.name for path in SITE.iterdir() if re.match(r"\d", path.name)]
    names.sort(key=lambda name: [int(part) for part in re.findall(r"\d+", name)], reverse=True)
    (SITE / "versions.json").write_text(json.dumps(names) + "\n")
    items = "".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in names)
    (SITE / "index.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>unskew</title>'
        f'<meta http-equiv="refresh" content="0; url={names[0]}/index.html">'
        f"<h1>unskew</h1><ul>{items}</ul></html>\n"
    )


def main() -> None:
    """Build and check; say what is wrong and fail."""
    wrong = broken_links()
    if wrong:
        sys.exit("links that lead nowhere:\n  " + "\n  ".join(wrong))
    folder = build()
    wrong = fetched(folder)
    if wrong:
        sys.exit("pages fetch from the network:\n  " + "\n  ".join(wrong))
    list_versions()
    print(f"{len(list(folder.rglob('*.html')))} pages in {folder.relative_to(ROOT)}/index.html")


if __name__ == "__main__":
    main()
