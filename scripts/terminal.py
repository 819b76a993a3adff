"""What trainlint prints, as it looks in a terminal: for pages as HTML, for the README as a picture.

Nothing is drawn by hand. The binary runs, its colours are read, and rich writes them down.
"""

import io
import subprocess
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

#: How wide the terminal of a picture is: the same for all, so that letters have one size.
COLUMNS = 118

#: Background, text, and the eight colours, plain and bright, readable on the dark background.
THEME = TerminalTheme(
    (16, 22, 29),
    (214, 222, 230),
    [(90, 104, 118), (255, 107, 104), (126, 211, 133), (242, 177, 52), (96, 165, 250), (200, 146, 234), (95, 211, 188), (214, 222, 230)],
    [(120, 134, 148), (255, 133, 130), (150, 226, 156), (255, 203, 92), (130, 186, 255), (216, 170, 245), (130, 228, 208), (255, 255, 255)],
)

#: rich's own picture asks the network for a font; this one takes whatever is there.
PICTURE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
  <style>
    .{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
    .{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
    {styles}
  </style>
  <defs>
    <clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
    {lines}
  </defs>
  {chrome}
  <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
  </g>
</svg>
"""


def run(trainlint, *args, cwd):
    """What a command writes to stdout, in colours. Findings are no failure, anything else is one."""
    command = [str(trainlint), *args, "--color", "always"]
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {ran.returncode}: {ran.stderr}")
    return ran.stdout.rstrip("\n")


def diff_in_colours(diff):
    """A diff as git colours it; trainlint leaves that to pagers."""
    colours = {"+++": "1", "---": "1", "@@": "36", "+": "32", "-": "31"}
    painted = []
    for line in diff.splitlines():
        code = next((code for mark, code in colours.items() if line.startswith(mark)), None)
        painted.append(f"\x1b[{code}m{line}\x1b[0m" if code else line)
    return "\n".join(painted)


def html(ansi):
    """A terminal for a page, which scrolls where a line is long."""
    return f'<pre class="terminal"><code>{_record(ansi, _width(ansi)).export_html(theme=THEME, code_format="{code}", inline_styles=True)}</code></pre>'


def svg(path, title, ansi):
    """A terminal for the README, in which long lines go on in the next."""
    text = _record(ansi, COLUMNS).export_svg(title=title, theme=THEME, code_format=PICTURE, unique_id=Path(path).stem)
    Path(path).write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines() if line.strip()), encoding="utf-8")


def _width(ansi):
    return max(len(line) for line in Text.from_ansi(ansi).plain.splitlines())


def _record(ansi, width):
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False)
    console.print(Text.from_ansi(ansi), highlight=False)
    return console
