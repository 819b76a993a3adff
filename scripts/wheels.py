"""Reads single files of wheels on a package index, without fetching the whole of them.

A wheel is a zip file: its directory lies at the end, and the parts that hold Python are fetched by
byte ranges. Nothing of a wheel is ever imported or run.
"""

from __future__ import annotations

import html
import io
import re
import struct
import sys
import tarfile
import urllib.request
import zlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

GAP = 1 << 18  # Files that lie closer than this are fetched together.


@dataclass
class File:
    """A wheel or a source archive of a release."""

    name: str
    address: str
    # What the index says of the Pythons that it is for.
    requires: str


def versions(index: str, distribution: str) -> dict[tuple[int, ...], list[File]]:
    """The final releases of a distribution, each with its wheels and source archives."""
    page = urljoin(index.rstrip("/") + "/", distribution + "/")
    text = urllib.request.urlopen(page, timeout=120).read().decode()
    found: dict[tuple[int, ...], list[File]] = {}
    for href, more, name in re.findall(r'<a[^>]*href="([^"]+)"([^>]*)>([^<]+)</a>', text):
        stem = re.sub(r"\.(tar\.gz|zip)$", "", name)
        version = name.split("-")[1] if name.endswith(".whl") else stem.rsplit("-", 1)[-1]
        if (name.endswith(".whl") or stem != name) and re.fullmatch(r"[\d.]+", version):
            requires = re.search(r'data-requires-python="([^"]*)"', more)
            file = File(name, urljoin(page, html.unescape(href)), html.unescape(requires[1]) if requires else "")
            found.setdefault(tuple(int(part) for part in version.split(".")), []).append(file)
    return found


def pythons(files: list[File]) -> str:
    """The Pythons that a release is made for, as `3.7-3.10`, as far as its files say so."""
    made = {
        (int(tag[2]), int(tag[3:]))
        for file in files if file.name.endswith(".whl")
        for tag in file.name.removesuffix(".whl").split("-")[-3].split(".") if re.fullmatch(r"cp\d\d+", tag)
    }
    if made and not any("-none-any" in file.name or "-abi3-" in file.name for file in files):
        return "-".join(".".join(map(str, python)) for python in (min(made), max(made)))
    least = [re.search(r">=?\s*(\d+)\.(\d+)", file.requires) for file in files]
    if not least or not all(least):
        return "-"
    return ".".join(map(str, min((int(one[1]), int(one[2])) for one in least))) + "-"


def _part(address: str, start: int | None, end: int) -> tuple[bytes, int]:
    """Bytes `start` to `end` (inclusive) of a file, or its last `end` bytes; and its size."""
    span = f"bytes={start}-{end}" if start is not None else f"bytes=-{end}"
    request = urllib.request.Request(address, headers={"Range": span})
    for attempt in range(4):
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                size = int(answer.headers["Content-Range"].rsplit("/", 1)[1])
                return answer.read(), size
        except OSError as why:
            if attempt == 3:
                raise
            print(f"  again, for {why}", file=sys.stderr)
    raise AssertionError


class _Sparse(io.RawIOBase):
    """The end of a remote file, enough for `zipfile` to read its directory."""

    def __init__(self, address: str):
        tail, self.size = _part(address, None, 1 << 16)
        # The directory's own end says where it begins.
        at = tail.rfind(b"PK\x05\x06")
        start = struct.unpack("<I", tail[at + 16 : at + 20])[0]
        if start < self.size - len(tail):
            tail = _part(address, start, self.size - 1)[0]
        self.start, self.tail, self.at = self.size - len(tail), tail, 0

    def seekable(self):
        return True

    def seek(self, offset, whence=0):
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def tell(self):
        return self.at

    def read(self, count=-1):
        begin = self.at - self.start
        if begin < 0:
            raise OSError("read before the directory")
        data = self.tail[begin:] if count < 0 else self.tail[begin : begin + count]
        self.at += len(data)
        return data


def python_files(address: str, wanted, cache: Path) -> dict[str, str]:
    """The texts of those files of a wheel whose names are wanted."""
    name = address.split("#")[0].rsplit("/", 1)[1]
    kept = cache / (name + ".zip")
    if not kept.exists():
        (_fetch if name.endswith(".whl") else _fetch_source)(address, wanted, kept)
    with zipfile.ZipFile(kept) as archive:
        return {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()}


def _installed(name: str) -> str:
    """Where a file of a wheel goes."""
    return re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", name)


def _fetch(address: str, wanted, kept: Path) -> None:
    with zipfile.ZipFile(_Sparse(address)) as directory:
        members = [one for one in directory.infolist() if wanted(_installed(one.filename))]
    members.sort(key=lambda one: one.header_offset)
    runs: list[list[zipfile.ZipInfo]] = []
    for member in members:
        last = runs[-1][-1] if runs else None
        if last and member.header_offset - (last.header_offset + last.compress_size) < GAP:
            runs[-1].append(member)
        else:
            runs.append([member])
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as out:
        for run in runs:
            start = run[0].header_offset
            # A local header holds the name again and up to some hundred bytes of extras.
            end = run[-1].header_offset + run[-1].compress_size + len(run[-1].filename) + 1024
            data, _ = _part(address, start, end)
            for member in run:
                out.writestr(_installed(member.filename), _unpack(data, member.header_offset - start, member))
    partial.rename(kept)


def _fetch_source(address: str, wanted, kept: Path) -> None:
    """A source archive is small and is fetched whole; its names lose the folder around them."""
    data = io.BytesIO(urllib.request.urlopen(address, timeout=120).read())
    texts: list[tuple[str, bytes]] = []
    if address.split("#")[0].endswith(".zip"):
        with zipfile.ZipFile(data) as archive:
            texts = [(name, archive.read(name)) for name in archive.namelist()]
    else:
        with tarfile.open(fileobj=data) as archive:
            texts = [(one.name, archive.extractfile(one).read()) for one in archive if one.isfile()]
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in texts:
            name = re.sub(r"^(src|lib3)/", "", name.split("/", 1)[-1])
            if wanted(name):
                out.writestr(name, text)
    partial.rename(kept)


def _unpack(data: bytes, at: int, member: zipfile.ZipInfo) -> bytes:
    name, extra = struct.unpack("<HH", data[at + 26 : at + 30])
    begin = at + 30 + name + extra
    packed = data[begin : begin + member.compress_size]
    return packed if member.compress_type == zipfile.ZIP_STORED else zlib.decompress(packed, -15)
