"""The commands of README and docs, run as a reader would (docs/development.md says how a page marks them)."""
