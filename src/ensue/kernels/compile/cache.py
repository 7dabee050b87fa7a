"""Where compiled kernels are kept on disk, and how they travel to other machines.

Machine code fits where the same sources are compiled by the same versions for the same processor.
All of that is in the name of the folder, and nothing else: neither where Ensue is installed nor
when its files were written. So the files of one machine can be used on another whose folder has the
same name.

Numba itself asks for the path and the time of a kernel's file, and notices edits of that file only,
not of helpers that were inlined from others. A locator says where to look instead, which
the versions of Numba before 0.62 do not take: with them kernels do not travel.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding
from numba.core.caching import _CacheLocator

_config: Any = numba.config

CHECKED = bool(os.environ.get("ENSUE_CHECK_BOUNDS"))

_TESTED = ("0.68",)
"""The versions of Numba whose internals the leaner pipeline was tested with."""

LEAN = numba.__version__.startswith(_TESTED) and not os.environ.get("ENSUE_PLAIN_NUMBA")

_LOCATORS = "CACHE_LOCATOR_CLASSES"

PORTABLE = hasattr(_config, _LOCATORS)
"""Whether what is in the folder can be used on another machine."""

_MEMBER = "identity.json"
_NEW = (1980, 1, 1, 0, 0, 0)


def _identity() -> dict[str, str]:
    """Return what machine code depends on."""
    sources = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        sources.update(path.read_bytes())
    features = _config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    return {
        "sources of Ensue's kernels": sources.hexdigest()[:16],
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "system": f"{sys.platform} {platform.machine()}",
        "processor": _config.CPU_NAME or binding.get_host_cpu_name(),
        "features of the processor": hashlib.sha256(features.encode()).hexdigest()[:16],
        "options": f"checked {CHECKED}, lean {LEAN}, portable {PORTABLE}",
    }


IDENTITY = _identity()
_DIGEST = hashlib.sha256(json.dumps(IDENTITY).encode()).hexdigest()[:16]


def _folder() -> Path:
    """Return the folder for compiled kernels, in a place that can be written to."""
    name = f"kernels-{_DIGEST}"
    chosen = os.environ.get("ENSUE_CACHE_DIR")
    roots = [Path(chosen)] if chosen else []
    roots.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ensue")
    for root in roots:
        try:
            (root / name).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(root / name, os.W_OK):
            return root / name
    return Path(tempfile.mkdtemp(prefix="ensue-"))


FOLDER = _folder()


class Locator(_CacheLocator):
    """Tells Numba where a kernel is kept."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._path = FOLDER / function.__module__
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        """Return the folder of a kernel's module."""
        return str(self._path)

    def get_source_stamp(self) -> str:
        """Return what a kernel depends on."""
        return _DIGEST

    def get_disambiguator(self) -> str:
        """Return what tells kernels of one name apart."""
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], _file: str) -> Locator:
        """Return where to keep a kernel."""
        return cls(function)


def settings() -> dict[str, str]:
    """Return the settings of Numba that lead it to the folder."""
    if PORTABLE:
        return {_LOCATORS: f"{__name__}.{Locator.__name__}"}
    return {"CACHE_DIR": str(FOLDER)}


# kernels that travel


def _files() -> Iterator[Path]:
    """Give the files of all kernels, those that others refer to first."""
    for end in ("*.nbc", "*.nbi"):
        yield from sorted(FOLDER.rglob(end))


def is_empty() -> bool:
    """Tell whether no kernel is compiled yet."""
    return next(_files(), None) is None


def pack() -> bytes | None:
    """Return all compiled kernels as one file; the same kernels give the same bytes."""
    if not PORTABLE or is_empty():
        return None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(zipfile.ZipInfo(_MEMBER, _NEW), json.dumps(IDENTITY))
        for path in _files():
            member = zipfile.ZipInfo(path.relative_to(FOLDER).as_posix(), _NEW)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, path.read_bytes())
    return packed.getvalue()


def unpack(path: Path) -> str | None:
    """Take over kernels of another machine where none are kept yet; tell why if they do not fit.

    Other processes may do the same at the same time, so every file is written under another name
    and renamed.
    """
    with zipfile.ZipFile(path) as archive:
        theirs = json.loads(archive.read(_MEMBER))
        if theirs != IDENTITY:
            return _difference(theirs)
        for name in archive.namelist():
            target = FOLDER / name
            if name == _MEMBER or target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f"{target.name}.tmp.{uuid.uuid4().hex[:16]}")
            draft.write_bytes(archive.read(name))
            draft.replace(target)
    return None


def _difference(theirs: dict[str, str]) -> str:
    return "; ".join(
        f"{what}: {theirs.get(what)} there, {ours} here"
        for what, ours in IDENTITY.items()
        if theirs.get(what) != ours
    )
