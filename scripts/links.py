"""Whether every link of a built site leads somewhere: `python scripts/links.py FOLDER`.

Pages, files and anchors of the site have to exist. What lies elsewhere is not fetched, but nothing that a page needs
to be shown may lie there.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Tags that load what they name, and the attribute that names it.
LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "use": "href"}


class Page(HTMLParser):
    """The anchors of a page, and what it links to."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(value for name, value in attrs.items() if name in ("id", "name") and value)
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        target = attrs.get(LOADING.get(tag, ""))
        if target and attrs.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(target)


def check(folder):
    """The number of pages and of links; ends with what is wrong, if anything is."""
    folder = Path(folder).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html")) if path.name != "404.html"}
    wrong = [f"{path.relative_to(folder)}: {fault}" for path, page in pages.items() for fault in faults(path, page, pages, folder)]
    if wrong or not pages:
        raise SystemExit("\n".join(wrong) or f"{folder} holds no page")
    return len(pages), sum(len(page.links) + len(page.loaded) for page in pages.values())


def faults(path, page, pages, folder):
    for link in page.links + page.loaded:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if link in page.loaded and parts.scheme != "data":
                yield f"`{link}` is loaded from elsewhere"
            elif parts.scheme not in ("https", "mailto", "data"):
                yield f"`{link}` is not https"
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        if not target.is_relative_to(folder) or not target.exists():
            yield f"`{link}` leads nowhere"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"`{link}`: the page has no such section"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print("%d pages, %d links" % check(sys.argv[1]))
