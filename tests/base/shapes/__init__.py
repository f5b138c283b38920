"""A small catalog to choose from."""
