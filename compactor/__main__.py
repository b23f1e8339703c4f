"""`python -m compactor` is the `compactor` command."""

from compactor.cli import main

main()
