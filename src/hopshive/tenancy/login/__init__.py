"""The login service: it checks who a person is, and answers with the project user and a signed token.

Processes. Any number of replicas, each `hopshive login serve`, one process with an event loop. Threads do what blocks:
SQL, argon2, LDAP. A replica keeps nothing in memory that matters: limits, spent codes, keys, revocations and members are
rows. A replica without the database, or without its back end, answers 503 and lets no person in.

API, JSON over HTTPS (TLS 1.2 or later):
  POST /v1/login    {name, password, code?, database?} -> {user, account, project, role, token, expires_in}
                    A token stands for the password: of this service, or of the site's identity provider.
  POST /v1/revoke   Authorization: Bearer; refuses all tokens of that person issued so far, or {name} for an operator.
  GET  /v1/session  for the gateway: the subject of a client certificate -> X-Hopshive-User, X-Hopshive-Token, and
                    X-Hopshive-Authorization, which is HTTP Basic of account and token.
  GET  /.well-known/jwks.json   /healthz   /metrics
Errors are {error, message}: refused 401, not_a_member 403, limited 429 with Retry-After, unavailable 503, malformed 400.

Tables (`hopshive.tenancy.tables`, in hopshive's own schema): project_member, login_limit, login_code, login_key,
login_revocation. All moments are by the clock of the database, and rows that expired are deleted.

Keys. Tokens are JWT with ES256, which a JDK verifies by itself. Key pairs stand in login_key, so that a rotation is one
transaction for all replicas. The private half is sealed with AES-256-GCM under a key derived from a file of the host, the
same on each: a dump of the database, or an account that reads it, signs nothing. A new key is published `lead` seconds
before it signs. An old key verifies until the last of its tokens has expired.

Tokens. `sub` is the project user, or the account without a project. A login with a token answers a token that ends with the
one given, and that carries the moment of the same check of the password: no chain of tokens outlives or outruns a revocation.

Limits. Wrong attempts and those under way are counted together, per name and per address, before a password is looked at.
So a thousand requests at once are no more guesses than the limit. A refusal takes `refusal_seconds` at least, and an unknown
name costs a verification of a dummy hash: neither answer nor time says whether a name exists.

Failures. Back end down, slow or talking nonsense: 503, and no attempt is counted. Database down: 503. A statement that hangs
is left to its thread. A replica killed: the other answers; a login under way is lost, and has let no person in.
A broken people file keeps the people of before, and the log and /healthz say so. A wrong sealing key ends the start.
"""
