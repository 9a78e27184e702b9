"""A wire that can be cut without a word, or closed in one direction: bytes go through until it is told otherwise."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Wire:
    def __init__(self, port: int) -> None:
        self._far = port
        self.cut = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._near: set[asyncio.StreamWriter] = set()  # those towards us

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._come, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._far)
        self._writers |= {writer, far_writer}
        self._near.add(writer)
        for pair in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.create_task(self._copy(*pair))
            self._tasks.add(task)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):  # the second: it is closed in this direction
            while data := await reader.read(65_536):
                if not self.cut:
                    writer.write(data)
        if not self.cut:
            writer.close()

    def half_close(self) -> None:
        """Nothing more comes from the far side, which says so; what is sent there still arrives."""
        for writer in self._near:
            if not writer.is_closing():
                writer.write_eof()
        self._near.clear()

    def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        for writer in self._writers:
            writer.close()


@contextlib.asynccontextmanager
async def wire(port: int) -> AsyncIterator[Wire]:
    one = Wire(port)
    await one.listen()
    try:
        yield one
    finally:
        one.close()
