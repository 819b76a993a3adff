"""Where something happened: the lines of the script's own files on the stack, innermost first."""

from __future__ import annotations

import os
import sys
from itertools import islice
from types import CodeType, FrameType
from typing import NamedTuple


class Place(NamedTuple):
    """An expression of a script; two calls on one line are two places."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


Stack = tuple[Place, ...]


class Places:
    """Knows which files are the script's own: those below its folder."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(os.path.realpath(folder), "")
        self.known: dict[tuple[CodeType, int], Place | None] = {}

    def stack(self) -> Stack:
        found: list[Place] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            key = (frame.f_code, frame.f_lasti)
            if key not in self.known:
                self.known[key] = self._place(frame)
            place = self.known[key]
            if place is not None:
                found.append(place)
            frame = frame.f_back
        return tuple(found)

    def of_error(self, error: BaseException) -> Stack:
        """The stack of an error, as `stack` would have told it where it was raised."""
        found: list[Place] = []
        trace = error.__traceback__
        while trace is not None:
            name = self._own(trace.tb_frame.f_code)
            if name:
                found.append(Place(name, trace.tb_lineno, 0))
            trace = trace.tb_next
        return tuple(reversed(found))

    def _own(self, code: CodeType) -> str | None:
        path = os.path.realpath(code.co_filename)
        return path[len(self.folder):] if path.startswith(self.folder) else None

    def _place(self, frame: FrameType) -> Place | None:
        name = self._own(frame.f_code)
        if name is None:
            return None
        # The line of a statement is that of its frame; columns tell the calls on it apart.
        line, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
        return Place(name, line or frame.f_lineno, column or 0)
