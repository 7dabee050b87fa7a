"""`ensue warm`: compile everything before it is needed."""

from __future__ import annotations

import time as clock

from ensue.cli.terminal import exit_codes, remark, say


def warm() -> None:
    """Compile all kernels now, so that no query has to wait for them.

    They are kept on disk, in ~/.cache/ensue or where ENSUE_CACHE_DIR says.

    Once for each version of Ensue on a machine is enough, as when an image is built.

    Examples:
      ensue warm
    """
    with exit_codes():
        from ensue.engine.warming import STEPS, steps
        from ensue.kernels.compile.cache import FOLDER

        start = clock.perf_counter()
        for number, name in enumerate(steps(), 1):
            remark(f"{number}/{len(STEPS)} {name}")
        say(f"All kernels are in {FOLDER} ({clock.perf_counter() - start:.1f} s).")
