"""Fetch one file over https, bounded in size and in time; the server is not believed."""

from __future__ import annotations

import threading
import time
import urllib.request

CONNECTION_SECONDS = 30
"""How long a server may be silent."""
TOTAL_SECONDS = 600
"""How long a download may take."""
_HANDLERS: tuple[type[urllib.request.BaseHandler], ...] = (
    urllib.request.ProxyHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPRedirectHandler,
    urllib.request.HTTPErrorProcessor,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.UnknownHandler,
)
"""All there is: neither the address nor a redirection may lead to a local file, http or ftp."""
_CHUNK = 2**16


def fetch_bytes(url: str, max_bytes: int) -> bytes:
    """Return the content at an address.

    Raises:
        OSError: it cannot be fetched, is larger than `max_bytes`, or takes too long.
        HTTPException: the server does not speak HTTP.
    """
    # A server may send one byte a minute for ever, in the greeting as well as in the content, and
    # no time-out of a socket ends that. A thread can be left behind.
    ending: list[bytes | Exception] = []
    end = time.monotonic() + TOTAL_SECONDS

    def fetch() -> None:
        try:
            ending.append(_content(url, max_bytes, end))
        except Exception as error:
            ending.append(error)

    thread = threading.Thread(target=fetch, daemon=True)
    thread.start()
    thread.join(TOTAL_SECONDS)
    if not ending:
        raise TimeoutError(f"it was not complete after {TOTAL_SECONDS} s")
    if isinstance(ending[0], Exception):
        raise ending[0]
    return ending[0]


def _content(url: str, max_bytes: int, end: float) -> bytes:
    opener = urllib.request.OpenerDirector()
    for handler in _HANDLERS:
        opener.add_handler(handler())
    with opener.open(url, timeout=CONNECTION_SECONDS) as response:
        declared = response.headers.get("Content-Length", "")
        if declared.isdecimal() and (len(declared) > 18 or int(declared) > max_bytes):
            raise OSError(f"it has {declared[:30]} bytes, more than the {max_bytes} allowed")
        received = bytearray()
        while chunk := response.read1(_CHUNK):  # what is there, without waiting for more
            received += chunk
            if len(received) > max_bytes:
                raise OSError(f"it has more than the {max_bytes} bytes allowed")
            if time.monotonic() > end:
                raise TimeoutError(f"it was not complete after {TOTAL_SECONDS} s")
        if declared.isdecimal() and len(received) != int(declared):
            raise OSError(f"it ended after {len(received)} of {declared} bytes")
        return bytes(received)
