"""Random interleavings of everything that happens to a warehouse, against a model that says what must come of them."""
