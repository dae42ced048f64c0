"""Programs for developers: data and models of the package, dependencies, releases."""
