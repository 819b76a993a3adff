"""Markdown as the repository has it (GitHub's), for the Markdown of the site.

Python-Markdown wants an empty line in front of a list or a table, and four spaces for a list within a list.
"""

import posixpath
import re

ITEM = re.compile(r"^( *)([-*]|\d+\.) ")


def for_site(text):
    """The same page, with the empty lines and the indentation that the site's renderer needs."""
    out, fenced = [], False
    for line in text.splitlines():
        before = out[-1] if out else ""
        if line.lstrip().startswith("```"):
            if not fenced and before.strip() and not ITEM.match(before):
                out.append("")
            fenced = not fenced
        elif not fenced:
            item = ITEM.match(line)
            if item:
                line = " " * len(item[1]) + line
            if starts_block(line, item, before):
                out.append("")
        out.append(line)
    return "\n".join(out) + "\n"


def starts_block(line, item, before):
    """Whether a list or a table begins under a line of text."""
    if not before.strip():
        return False
    if item:
        return not ITEM.match(before) and not before.startswith(" ")
    return line.startswith("|") and not before.startswith("|")


def without_links(text, path, there):
    """A page whose links to files that are not part of the site are plain text."""

    def replace(match):
        target = match[2].split("#")[0]
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        where = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        return match[0] if where in there else match[1]

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", replace, text)


def insert_after(page, title, text):
    """Puts text at the end of a section."""
    heading = f"\n## {title}\n"
    start = page.index(heading) + len(heading)
    end = page.find("\n## ", start)
    end = len(page) if end < 0 else end
    return f"{page[:end].rstrip()}\n\n{text}\n{page[end:]}"
