"""The site of each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.login_site import LoginSite


@pytest.fixture
def site(login_site: LoginSite) -> LoginSite:
    return login_site
