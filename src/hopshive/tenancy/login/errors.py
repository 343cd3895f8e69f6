"""Why a request is answered with an error: a stable code and one sentence for the client, and a reason for the audit."""

from __future__ import annotations

# The same for an unknown name, a wrong password, and a code that is missing, wrong or spent.
REFUSED = "The name, the password or the one-time code is wrong."
TOKEN_REFUSED = "The token is not valid, or no longer valid: log in again."  # noqa: S105 - a sentence


class LoginError(Exception):
    """A request that is not granted. `reason` is for the audit alone, and holds no secret."""

    code = "internal"
    status = 500
    # Whether the attempt counts against the limits.
    counts = False

    def __init__(self, sentence: str, reason: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.reason = reason or sentence


class Malformed(LoginError):
    """The request does not follow the API."""

    code = "malformed"
    status = 400


class Denied(LoginError):
    """The person did not prove who it is; the client is not told which part was wrong."""

    code = "refused"
    status = 401
    counts = True

    def __init__(self, reason: str, sentence: str = REFUSED) -> None:
        super().__init__(sentence, reason)


class Forbidden(LoginError):
    """The person is known, and may not do this."""

    code = "forbidden"
    status = 403


class NotAMember(LoginError):
    """The person is known, and has no rights in the project, which may not exist."""

    code = "not_a_member"
    status = 403

    def __init__(self, account: str, project: str) -> None:
        super().__init__(f"{account} is not a member of the project {project}, or there is no such project.")


class Limited(LoginError):
    """Too many attempts. `retry_after`: seconds until the next one is looked at."""

    code = "limited"
    status = 429

    def __init__(self, retry_after: int, reason: str) -> None:
        super().__init__(f"Too many attempts to log in: the next one is possible in {retry_after} s.", reason)
        self.retry_after = retry_after


class Unavailable(LoginError):
    """Something that the login needs does not answer: the same may succeed later."""

    code = "unavailable"
    status = 503

    def __init__(self, what: str, reason: str = "") -> None:
        super().__init__(f"{what} cannot be asked now: try again later.", reason)
