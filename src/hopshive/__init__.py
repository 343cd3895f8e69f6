"""The package behind the hopshive bundle: its logic stands here once; Ansible modules and the command line call it."""
