"""Notes the functions that a program calls which a test starts: Python imports this where PYTHONPATH has its folder."""

from __future__ import annotations

import os

if "KW_CALLS_OF" in os.environ:
    import atexit
    import sys

    path = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "noting.py"))
    noting = type(sys)("noting")
    with open(path) as source:
        exec(compile(source.read(), path, "exec"), noting.__dict__)
    noted = noting.Calls()
    noted.start()
    # The name of the test may be another one at the end.
    atexit.register(noted.write, os.environ["KW_CALLS_OF"])
