"""Where the server listens, and the names under which a browser may ask for it.

``Host`` of a request has to be one of these names. A page elsewhere can have its own name point to this machine, but it
cannot have that name be an address: so where the server listens on all addresses of the machine, which it need not know
(a container does not know under which its ports are published), every literal address is one of its names.
"""

import re
import socket
import sys
from ipaddress import ip_address

from widegap.exceptions import InvalidDataError

OWN_ADDRESS = "127.0.0.1"
NAMES_OF_LOOPBACK = (OWN_ADDRESS, "localhost", "[::1]")
HTTP_PORT = 80  # which browsers leave out
HOST_FIELD = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]@/]+)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)


def is_own(host: str) -> bool:
    """Whether nobody but this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Listening:
    """A socket that listens, and where a browser finds it.

    Parameters
    ----------
    host : str
        An address or the name of one; ``0.0.0.0`` and ``::`` are all addresses of this machine.
    port : int
        0 takes a free one.
    """

    def __init__(self, host: str, port: int):
        self.socket = _bound_socket(OWN_ADDRESS if host == "localhost" else host, port)
        found, self._port = self.socket.getsockname()[:2]
        self.everywhere = ip_address(found).is_unspecified
        shown = found if _is_address(host) or host == "localhost" else host.lower()
        if self.everywhere:
            shown = "::1" if ":" in found else OWN_ADDRESS
        self._shown = _in_address(shown)
        self._names = {self._shown, _in_address(found), *NAMES_OF_LOOPBACK}
        if not is_own(host):
            self._names.add(socket.gethostname().lower())

    @property
    def address(self) -> str:
        """What this machine's browser opens, without a path."""
        return f"http://{self._shown}:{self._port}"

    def __contains__(self, host: object) -> bool:
        """Whether a request may have this ``Host``."""
        parts = HOST_FIELD.fullmatch(str(host).lower())
        if parts is None or int(parts["port"] or HTTP_PORT) != self._port:
            return False
        return parts["name"] in self._names or (self.everywhere and _is_address(parts["name"].strip("[]")))


def _in_address(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _bound_socket(host: str, port: int) -> socket.socket:
    if not host or "%" in host:
        raise InvalidDataError(f"{host!r} is not an address that a browser can open; name one such as {OWN_ADDRESS}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":  # where another program could share the port, and read what is meant for us
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        bound.bind((host, port))
        bound.listen(100)  # from now on requests wait, even if the server has not begun to answer
    except (OSError, OverflowError) as error:
        bound.close()
        raise InvalidDataError(
            f"Port {port} of {host} cannot be used ({error}); choose another port with --port, or another address of "
            "this machine with --host."
        ) from None
    return bound
