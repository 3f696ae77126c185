"""`python -m kwcli`: the program `kw`."""

import sys

from kwcli.main import main

sys.exit(main())
