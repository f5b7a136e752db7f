"""The same work for many users on several cores. Order is kept, so that any number of processes gives the same bytes."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
R = TypeVar("R")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def each(work: Callable[[T], R], over: Sequence[T], jobs: int, what: str) -> Iterator[R]:
    """``work`` of every element, in order. ``jobs`` 0: one process a core. A failure in one ends all, with its error.

    Processes are spawned: a fork after torch has started threads can hang. Each computes on one thread, since two that both
    use all cores slow each other down tenfold.
    """
    jobs = min(jobs or os.cpu_count() or 1, len(over))
    quiet = len(over) < 8 or not sys.stderr.isatty()
    if jobs <= 1:
        yield from tqdm(map(work, over), what, len(over), disable=quiet)
        return
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            yield from tqdm(pool.map(work, over), what, len(over), disable=quiet)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
