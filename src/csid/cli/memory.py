"""Whether the files to fit are too large for the free memory."""

import os
import re
from pathlib import Path

from csid.cli.tables.sources import sources

_LARGEST_FRACTION = 0.15
"""Of the free memory: a table takes several times the size of its file, and the fit as much again."""


def is_large(data: str) -> bool:
    """Whether the files would take too much of the free memory as a table."""
    if data == "-":
        return False
    size = sum(source.path.stat().st_size for source in sources(data) if source.path is not None)
    return size > _LARGEST_FRACTION * free_memory()


def free_memory() -> int:
    """Bytes of memory that programs may still take."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    except OSError:
        found = None
    if found is not None:
        return int(found[1]) << 10
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 8 << 30
