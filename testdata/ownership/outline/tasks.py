"""Tasks."""
from __future__ import annotations

import os, sys as system
from . import queue
from .store import (
    Store,
    Row as Line,
)

LIMIT: int = 10
low, high = 1, 2


# Runs tasks.
@dataclass(frozen=True)
class Runner(Base, metaclass=Meta):
    """Runs."""

    retries = 3

    # How many there are.
    @property
    @cached
    def size(self) -> int:
        return len(self.tasks)

    async def run(self, task, *, limit=LIMIT, **options):
        def again(error):
            return self.retry(task, error)

        try:
            await task(limit)
        except OSError as e:
            again(e)


if system.platform == "linux":
    def notify(text):
        os.write(1, text)
