"""One file per experiment; `reproduce.experiment` lists them."""
