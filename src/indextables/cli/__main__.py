"""`python -m indextables.cli` is `indextables`."""

import sys

from indextables.cli import main

sys.exit(main())
