"""The command line: parse, call, write. No other package imports it."""
