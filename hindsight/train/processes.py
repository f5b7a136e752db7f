"""Under ``accelerate launch`` one process mines, labels and writes; all of them fit."""

from __future__ import annotations

import os
from collections.abc import Callable


def is_first() -> bool:
    """This process, or the only one, writes."""
    return os.environ.get("RANK", "0") == "0"


def by_first(work: Callable[[], object]) -> None:
    """One process works, the others wait for it. If it fails they fail too: the launcher ends all."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        work()
        return
    import torch  # neither is needed by a single process
    from accelerate import PartialState

    state = PartialState(cpu=not torch.cuda.is_available())  # otherwise, without a GPU, it would not know of the others
    if is_first():
        work()
    state.wait_for_everyone()
