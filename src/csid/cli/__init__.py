"""The command `csid`: one file per command, `app` puts them together."""
