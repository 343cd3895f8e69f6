"""Metadata that follow their directories: the schema that binds them, what follows, what was removed, what is left."""
