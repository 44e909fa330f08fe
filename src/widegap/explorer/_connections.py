"""Connections of the server: one whose request does not arrive in time is closed, so that it holds no place.

uvicorn waits without end for the rest of a request, and answers 503 when too many connections are open.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0  # a whole request, 4 MiB at most, arrives in a fraction of that even over a slow network


class TimedConnection(H11Protocol):
    """HTTP with a limit on the time between a request's first byte, or the connection, and its last byte."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_watch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Let the time run while a request is due; a few bytes more do not prolong it."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._end_watch()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _end_watch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
