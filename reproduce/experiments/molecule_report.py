def tables(r): return []
def facts(r): return {}
def pictures(r, out): return []
