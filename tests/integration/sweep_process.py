"""A process that sweeps once and, if told, stops dead before a step: ``python -m tests.integration.sweep_process``.

Arguments: database URL, data directory, moment (ISO), step to die at ('' for none), seconds to hold there.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import datetime

from ingatan import settings
from ingatan.app import App
from ingatan.testing import WordEmbedder


def main(url: str, data_directory: str, moment: str, step: str, hold: str) -> None:
    def pause(reached: str) -> None:
        if reached == step:
            if float(hold):
                print("holding", flush=True)  # noqa: T201 (the parent waits for this line)
                time.sleep(float(hold))
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    environ = {
        "INGATAN_ENVIRONMENT": "development",
        "INGATAN_MEMORY__ENABLED": "true",
        "INGATAN_DATABASE__URL": url,
        "INGATAN_SERVER__DATA_DIRECTORY": data_directory,
    }
    app = App.start(settings.load(environ), embedder=WordEmbedder(), pause=pause)
    try:
        report = app.sweeper.sweep(datetime.fromisoformat(moment))
        print(f"led={report.led} conversations={report.conversations} written={report.written}", flush=True)  # noqa: T201
    finally:
        app.close()


if __name__ == "__main__":
    main(*sys.argv[1:6])
