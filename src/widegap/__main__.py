"""``python -m widegap``."""

import sys

from widegap.cli._main import main

sys.exit(main())
