"""Under which names the server is asked, and by the pages of which sites.

A browser runs pages of strangers beside the server. One whose name suddenly means this machine (DNS rebinding) would
count as the server's own page, so requests have to name a host that the server answers to. And any page may send a form
anywhere, so what costs work is done only for the server's own pages, for those that were allowed, and for programs.
"""

import re
import socket
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from regard.apps.server.answers import Refusal
from regard.base.errors import UsageError

_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")
_NAME = re.compile(r"[a-z0-9_.-]+|\*")
_USUAL = {"http": ":80", "https": ":443"}  # ports that browsers leave out
_SHOWN = 100  # characters of a header, in a refusal


@dataclass(frozen=True)
class Sites:
    """The hosts and origins that are served; * stands for all of them.

    A server that only this machine can reach (`local`) answers to the names of this machine's loopback. Others answer
    to their machine's name, and to addresses and names without a dot, which no stranger can give a meaning to.
    """

    host: str = "127.0.0.1"
    local: bool = True
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.names:
            if not _NAME.fullmatch(name.lower()):
                right = "one as browsers show it, such as translate.example.org, or * for all"
                raise UsageError(f"--host-name {name}: is no name of a host; give {right}")
        for origin in self.origins:
            found = _ORIGIN.match(origin.lower())
            scheme, host, port = found.groups(default="") if found else ("", "", "")
            meant = f"{scheme}://{host}" + ("" if port == _USUAL.get(scheme) else port)
            if origin not in ("*", meant):
                hint = f" (did you mean '{meant}'?)" if found else ""
                right = "one as browsers send it, such as https://a.example or http://localhost:3000, or * for all"
                raise UsageError(f"--cors {origin}: is no origin{hint}; give {right}")

    def check(self, method: str, headers: Headers) -> None:
        """Refuse a request for a host that is none of ours, or one that costs work and comes from a foreign page."""
        host = headers.get("host", "")
        if host and not self._is_ours(host):
            shown = host[:_SHOWN]
            raise Refusal(403, f"This server does not answer to the name {shown}; --host-name allows one", close=True)
        if method not in ("GET", "HEAD", "OPTIONS") and not self._may_ask(host, headers):
            shown = headers.get("origin", "another site")[:_SHOWN]
            raise Refusal(403, f"Pages of {shown} may not ask this server; --cors allows a site", close=True)

    @cached_property
    def _names(self) -> frozenset[str]:
        machine = socket.gethostname().lower()
        ours = () if self.local else (machine, f"{machine}.local")
        return frozenset(("localhost", self.host.lower(), *map(str.lower, self.names), *ours))

    def _is_ours(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in self._names or "*" in self.names or name.endswith(".localhost"):
            return True
        try:
            return ip_address(name).is_loopback or not self.local
        except ValueError:
            return "." not in name and not self.local

    def _may_ask(self, host: str, headers: Headers) -> bool:
        """Whether a request was made by no page, by one of ours, or by one of a site that was allowed."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if site in ("same-origin", "none"):  # browsers say so, and no page can; true behind any proxy
            return True
        if origin is None:
            return site is None
        return "*" in self.origins or origin in self.origins or origin.partition("://")[2].lower() == host.lower()
