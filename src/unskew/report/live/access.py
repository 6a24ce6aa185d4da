"""Access control of the live page: this machine, or anyone with the token."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

COOKIE = "unskew"


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Access:
    """The rule of one server. Without a token only requests from this machine are answered."""

    token: str | None

    @classmethod
    def of(cls, host: str) -> Access:
        """A server that other machines can reach requires a token."""
        return cls(None if is_local(host) else secrets.token_urlsafe(24))

    def allows(self, host: str | None, cookie: str | None) -> bool:
        """Check the Host header, which a page of another site cannot forge, or the cookie."""
        if self.token is None:
            # DNS rebinding: a foreign host name that points to 127.0.0.1 must not read our page.
            return host is not None and is_local(urlsplit(f"//{host}").hostname or "")
        return self.fits(_cookie(cookie))

    def fits(self, token: str | None) -> bool:
        """Whether it is the token."""
        return (
            self.token is not None
            and token is not None
            and hmac.compare_digest(token.encode(), self.token.encode())
        )


def _cookie(header: str | None) -> str | None:
    try:
        found = SimpleCookie(header or "").get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value
