"""`python -m csid` is the command `csid`."""

from csid.cli.app import main

if __name__ == "__main__":
    main()
