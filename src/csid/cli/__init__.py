"""The command `csid`: a file for each command, put together in `app`."""
