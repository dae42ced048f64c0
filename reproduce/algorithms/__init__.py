"""Learning graph algorithms edge by edge: shortest paths and maximum spanning trees (Table 1)."""
