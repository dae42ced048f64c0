"""The command line: parse, call, write. Nobody imports it."""
