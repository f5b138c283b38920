"""`python -m regard` is the command line."""

import sys

from regard.apps.cli import main

sys.exit(main())
