"""The scenario's log is of what users run; testinfra's own questions, which show variables, do not belong in it."""

import os

os.environ.pop("ANSIBLE_LOG_PATH", None)
