"""People, their projects, and the service that lets them in.

A *person* logs in with a login name, such as an e-mail address, and has an *account*, such as `alice`. A *project* has
members. A member acts in the project as the *project user* `<project>__<account>`, which owns files and runs jobs.
"""
