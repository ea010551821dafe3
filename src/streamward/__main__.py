"""`python -m streamward` is `streamward`."""

from streamward.cli import main

main()
