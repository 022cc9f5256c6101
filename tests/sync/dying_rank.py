"""``spdnorm`` whose second process is killed once a checkpoint of the given epoch is there.

dying_rank.py CHECKPOINT_GLOB EPOCH -- arguments of spdnorm
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import torch

from spdnorm.cli import main


def die_after(pattern: str, epoch: int) -> None:
    while True:
        for file in Path().glob(pattern):
            if len(torch.load(file, weights_only=True)["history"]) >= epoch:
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)


if __name__ == "__main__":
    pattern, epoch, _, *arguments = sys.argv[1:]
    if os.environ["RANK"] == "1":
        threading.Thread(target=die_after, args=(pattern, int(epoch)), daemon=True).start()
    main(arguments)
