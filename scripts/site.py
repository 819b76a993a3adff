"""Arranges the documentation site from the repository and builds it.

    python scripts/site.py BINARY [FOLDER]

No page is written twice. Markdown files of the repository keep their places, so that their links hold; of rules the
binary says what it knows, and what it prints for the example of each page is put beside it. The site lies in
FOLDER/html (target/site without one), and `scripts/links.py` looks at its links when it is built.
"""

import html
import json
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import terminal
from configuration_keys import with_schema
from links import check
from markdown_pages import for_site, insert_after, without_links

ROOT = Path(__file__).resolve().parent.parent

#: What stands in the bar at the top, and under it.
ORDER = [
    ("Home", "README.md"),
    ("Installation", "docs/installation.md"),
    ("Quick start", "docs/quick-start.md"),
    ("Rules", None),
    (
        "Guide",
        [
            ("Command line", "docs/cli.md"),
            ("Configuration", "docs/configuration.md"),
            ("Suppressing findings", "docs/suppressions.md"),
            ("Troubleshooting", "docs/troubleshooting.md"),
            ("Error messages", "docs/error-messages.md"),
            (
                "Editors",
                [
                    ("All editors", "docs/editors.md"),
                    ("Visual Studio Code", "editors/vscode/README.md"),
                    ("Neovim", "editors/neovim/README.md"),
                    ("Emacs", "editors/emacs/README.md"),
                    ("Helix", "editors/helix/README.md"),
                    ("Zed", "editors/zed/README.md"),
                    ("Sublime Text", "editors/sublime/README.md"),
                ],
            ),
            ("CI and pre-commit", "docs/integrations.md"),
            ("Replays", "docs/replay.md"),
            ("Checking the machine", "docs/doctor.md"),
            ("Describing your own wrappers", "rules/apis/README.md"),
        ],
    ),
    (
        "About",
        [
            ("How it works", "docs/how-it-works.md"),
            ("Comparison", "docs/comparison.md"),
            ("Validation", "docs/validation.md"),
            ("Seen happening", "docs/truth.md"),
            ("Speed", "benches/README.md"),
            ("Versions", "docs/versioning.md"),
            ("Limits", "docs/limits.md"),
            ("Security", "SECURITY.md"),
            ("Changes", "CHANGELOG.md"),
        ],
    ),
    (
        "Contributing",
        [
            ("Contributing", "CONTRIBUTING.md"),
            ("Adding a rule", "docs/adding-a-rule.md"),
            ("Architecture", "docs/architecture.md"),
            ("Anatomy of a finding", "docs/anatomy-of-a-finding.md"),
            ("Style", "docs/style.md"),
            ("The index of names", "rules/index/README.md"),
            ("The tables of builds", "rules/builds/README.md"),
        ],
    ),
]

#: What is no page, and needed by one or linked from one.
FILES = ["docs/site/style.css", "docs/site/icon.svg", "LICENSE-MIT", "LICENSE-APACHE", "trainlint.schema.json", "examples/digits.py", "examples/healthy.py"]

#: The site takes any README.md for the page of a section; the pages in these folders are none.
NO_SECTIONS = ["apis", "builds", "changed", "index", "benches", *sorted(path.name for path in ROOT.glob("editors/*"))]

#: Enough to see the numbers of a replay, in a build that is not optimised, too.
SAMPLES = "100000"


def main(binary, folder):
    trainlint, folder = Path(binary).resolve(), Path(folder).resolve()
    source = folder / "pages"
    for made in (source, folder / "html"):
        shutil.rmtree(made, ignore_errors=True)
    rules = json.loads(subprocess.run([trainlint, "rules", "--output-format", "json"], check=True, capture_output=True).stdout)
    arrange_rules(trainlint, rules, source)
    order = [(title, pages if pages else rule_order(rules)) for title, pages in ORDER]
    arrange_pages(order, source)
    build(folder, nav(order))
    pages, links = check(folder / "html")
    print(f"site: {pages} pages, {links} links, none of them broken, in {folder / 'html'}")


def arrange_rules(trainlint, rules, source):
    """The pages of rules and their index."""
    marks = marks_of(trainlint, rules)
    for rule in rules:
        write(source / f"rules/{rule['id']}.md", rule_page(trainlint, rule, marks[rule["id"]]))
    write(source / "rules/README.md", index(rules, marks))


def arrange_pages(order, source):
    """All other pages, with what they show and what they link to."""
    there = {path for path in paths(order) if (ROOT / path).exists()}
    for path in sorted(there):
        if not (source / path).exists():
            text = (ROOT / path).read_text(encoding="utf-8")
            copy_pictures(text, path, source)
            if path == "docs/configuration.md":
                text = with_schema(text, (ROOT / "trainlint.schema.json").read_text(encoding="utf-8"))
            write(source / renamed(path), renamed(for_site(without_links(text, path, there | set(FILES)))))
    for name in FILES:
        copy(name, source)


def renamed(text):
    """A path, or a page with links, under the names that the site has."""
    return re.sub(rf"\b({'|'.join(NO_SECTIONS)})/README\.md", r"\1/about.md", text)


def build(folder, order):
    """Runs Zensical on the arranged pages."""
    settings = (ROOT / "docs/site/zensical.toml").read_text(encoding="utf-8")
    settings = settings.replace("[project]\n", f'[project]\ndocs_dir = "pages"\nsite_dir = "html"\nnav = {toml(order)}\n', 1)
    write(folder / "zensical.toml", settings)
    ran = subprocess.run([Path(sys.executable).parent / "zensical", "build", "--strict"], cwd=folder, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"{ran.stdout}{ran.stderr.split('Traceback')[0]}")


def toml(order):
    """The order of pages as TOML writes lists and tables."""
    if isinstance(order, str):
        return json.dumps(order)
    if isinstance(order, dict):
        return "{" + ", ".join(f"{json.dumps(title)} = {toml(pages)}" for title, pages in order.items()) + "}"
    return f"[{', '.join(map(toml, order))}]"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def copy_pictures(text, path, source):
    """The pictures that a page shows."""
    for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text):
        if "://" not in target:
            copy(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)), source)


def copy(name, source):
    (source / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / name, source / name)


# The order of pages


def groups():
    """The groups with their titles, as the index of the repository has them."""
    text = (ROOT / "rules/README.md").read_text(encoding="utf-8")
    return [(group, title) for title, group in re.findall(r"^## (.+) \(`([a-z]+)`\)$", text, re.M)]


def anchor(group):
    """The section of a group in the index, as GitHub and the site call it."""
    title = next(title for name, title in groups() if name == group)
    return re.sub(r"[^a-z -]", "", f"{title} {group}".lower()).replace(" ", "-")


def rule_order(rules):
    """The index, and the rules by group."""
    grouped = [(title, [(rule["id"], f"rules/{rule['id']}.md") for rule in rules if rule["group"] == group]) for group, title in groups()]
    return [("All rules", "rules/README.md"), *((title, pages) for title, pages in grouped if pages)]


def paths(order):
    for _, what in order:
        if isinstance(what, str):
            yield what
        else:
            yield from paths(what)


def nav(order):
    """The same for Zensical. A page that is not written yet is left out."""
    entries = []
    for title, what in order:
        if not isinstance(what, str):
            entries += [{title: pages}] if (pages := nav(what)) else []
        elif (ROOT / what).exists():
            # The first page of a section that has no title of its own is the page of the section.
            entries.append(renamed(what) if title == "All rules" else {title: renamed(what)})
    return entries


# What is known of a rule


def marks_of(trainlint, rules):
    """Of each rule: how sure its findings are, which fixes they have, and whether they can be replayed; seen in fixtures."""
    found = {rule["id"]: {"confidence": set(), "fix": set(), "replay": False} for rule in rules}
    where = ["--isolated", "--pedantic", str(ROOT / "fixtures")]
    ran = subprocess.run([trainlint, "check", "--no-cache", "--exit-zero", "--output-format", "json", *where], check=True, capture_output=True)
    for finding in json.loads(ran.stdout)["findings"]:
        mark = found[finding["rule"]]
        mark["confidence"].add(finding["confidence"])
        mark["fix"].add((finding["fix"] or {}).get("applicability"))
    plan = subprocess.run([trainlint, "plan", "--samples", "1", *where], check=True, capture_output=True)
    for item in json.loads(plan.stdout)["items"]:
        found[item["rule"]]["replay"] = True
    return found


def fix_mark(mark):
    kinds = [kind for kind in ("safe", "unsafe") if kind in mark["fix"]]
    return " or ".join(kinds)


# The page of a rule


def rule_page(trainlint, rule, mark):
    page = rule["page"]
    bad = re.search(r"^## Example\n```python\n(.*?)^```$", page, re.S | re.M)
    expected = [number for number, line in enumerate(bad[1].splitlines(), 1) if "# expect" in line]
    with tempfile.TemporaryDirectory() as folder:
        # The marks are for the tests of the repository; nobody writes them.
        script = re.sub(r"  # expect(-pedantic)?: [a-z-]+(, [a-z-]+)*$", "", bad[1], flags=re.M)
        (Path(folder) / "train.py").write_text(script, encoding="utf-8")
        for name, code in companions(page):
            (Path(folder) / name).write_text(code, encoding="utf-8")
        printed = what_it_prints(trainlint, folder, rule)
        diff = what_it_fixes(trainlint, folder)
        replayed = what_it_replays(trainlint, folder, rule) if mark["replay"] else ""
    highlighted = f'```python hl_lines="{" ".join(map(str, expected))}"\n{script}```' if expected else bad[0]
    page = page.replace(bad[0], f"## Example\n{highlighted}\n\n{printed}")
    page = page.replace("\n\n", f"\n\n{chips(rule, mark, replayed)}\n\n", 1)
    page = insert_after(page, "Fix safety", f"{diff}\n{replayed}")
    return f"---\ndescription: {json.dumps(rule['summary'])}\n---\n" + renamed(for_site(page))


def companions(page):
    """The files that the example imports, with their names: blocks that begin with `# NAME.py`."""
    return re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", page, re.S | re.M)


def chips(rule, mark, replayed):
    fix = fix_mark(mark)
    confidence = ", ".join(one for one in ("high", "medium", "low") if one in mark["confidence"])
    replay = "#replay" if replayed else "../docs/replay.md#which-findings-have-a-replay"
    parts = [
        f"[{rule['severity']}](README.md#rules){{: .chip .{rule['severity']} }}",
        f"[{rule['group']}](README.md#{anchor(rule['group'])}){{: .chip }}",
        f"[{fix} fix](#fix-safety){{: .chip .fix }}" if fix else "[no fix](#fix-safety){: .chip .plain }",
        f"[replay]({replay}){{: .chip .replay }}" if mark["replay"] else "",
        f"[confidence: {confidence}](#how-it-knows){{: .chip .plain }}",
    ]
    return f"{' '.join(part for part in parts if part)}\n{{: .chips }}"


def what_it_prints(trainlint, folder, rule):
    pedantic = ["--pedantic"] if rule["severity"] == "note" else []
    shown = terminal.run(trainlint, "check", "--isolated", "--no-cache", *pedantic, "train.py", cwd=folder)
    if rule["id"] not in shown:
        raise SystemExit(f"{rule['id']} does not report the example of its page")
    return f"## What it prints\n{session(['trainlint', 'check', *pedantic, 'train.py'], shown)}\n"


def what_it_fixes(trainlint, folder):
    for flags in ([], ["--unsafe-fixes"]):
        diff = terminal.run(trainlint, "check", "--isolated", "--no-cache", "--diff", *flags, "train.py", cwd=folder)
        if diff:
            return session(["trainlint", "check", "--diff", *flags, "train.py"], terminal.diff_in_colours(diff))
    return ""


def what_it_replays(trainlint, folder, rule):
    replayed = terminal.run(trainlint, "confirm", "--isolated", "--samples", SAMPLES, "--backend", "cpu", "train.py", cwd=folder)
    if rule["id"] not in replayed:
        return ""
    intro = "`trainlint confirm` runs what this finding is about ([how](../docs/replay.md)).\n\n"
    return f"\n## Replay\n{intro}{session(['trainlint', 'confirm', '--samples', SAMPLES, 'train.py'], replayed)}\n"


def session(command, shown):
    return terminal.html(f"\x1b[90m$\x1b[0m \x1b[1m{' '.join(command)}\x1b[0m\n{shown}")


# The index


def index(rules, marks):
    lines = [
        "---\nhide: [toc]\n---\n# Rules\n",
        f"{len(rules)} rules, all of them on from the start. An **error** means that the run is wrong or dies, a **warning** that it is worse than it looks, a **note** is shown with `--pedantic`.\n",
        '<p class="legend"><span class="mark fix">fix</span> safe, applied by <code>--fix</code> <span class="mark unsafe">fix</span> rests on a guess, <code>--unsafe-fixes</code> <span class="mark replay">replay</span> <code>trainlint confirm</code> shows it happening</p>\n',
    ]
    for group, title in groups():
        members = [rule for rule in rules if rule["group"] == group]
        if members:
            lines.append(f"## {title} (`{group}`)\n\n<div class=\"rules\" markdown>\n")
            lines += ["| rule | reports | severity | |", "| --- | --- | --- | --- |"]
            lines += [index_line(rule, marks[rule["id"]]) for rule in members]
            lines.append("\n</div>\n")
    return for_site("\n".join(lines))


def index_line(rule, mark):
    fixes = fix_mark(mark)
    kind = "fix" if "safe" in fixes.split() else "unsafe"
    shown = [f'<span class="mark {kind}" title="{html.escape(fixes)} fix">fix</span>'] if fixes else []
    shown += ['<span class="mark replay" title="can be replayed">replay</span>'] if mark["replay"] else []
    severity = f'<span class="chip {rule["severity"]}">{rule["severity"]}</span>'
    return f"| [{rule['id']}]({rule['id']}.md) | {rule['summary']} | {severity} | {' '.join(shown)} |"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else ROOT / "target/site")
