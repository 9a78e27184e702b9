"""Carries files between this machine and a browser on another, through pages: no path means the same on both.

Above: upload, remote. Below: backroom, world, cdp. What a page is given is made a file in our own world, which the page
cannot see. What a page gave is put into a file field of a hidden page, and read there: its bytes are those that came,
whatever the request was that brought them.
"""

import asyncio
import base64
import mimetypes
import secrets
from pathlib import Path
from typing import Any

from pilothouse.browser.backroom import backroom
from pilothouse.browser.browser import Context
from pilothouse.browser.files import Folder
from pilothouse.browser.world import World, WorldGone
from pilothouse.cdp.connection import Channel, ProtocolError
from pilothouse.errors import Failure

PART_BYTES = 1_500_000  # two megabytes as it travels
PART_S = 30.0

_ADD = """function (key, at, name, type, part) {
  const kept = (globalThis.phGiven ??= new Map());
  if (!kept.has(key)) kept.set(key, []);
  const files = kept.get(key);
  files[at] ??= { name, type, parts: [] };
  if (Uint8Array.fromBase64) return void files[at].parts.push(Uint8Array.fromBase64(part));
  const text = atob(part), bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  files[at].parts.push(bytes);
}"""
_PUT = """function (key) {
  const carried = new DataTransfer();
  for (const { name, type, parts } of globalThis.phGiven.get(key)) carried.items.add(new File(parts, name, { type }));
  globalThis.phGiven.delete(key);
  this.files = carried.files;
  this.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  this.dispatchEvent(new Event("change", { bubbles: true }));
}"""
_FORGET = "function (key) { globalThis.phGiven?.delete(key); }"
_FIELD = "document.body.appendChild(Object.assign(document.createElement('input'), { type: 'file' }))"
_READ = """function (from, to) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve([this.files[0].size, reader.result.slice(reader.result.indexOf(",") + 1)]);
    reader.onerror = () => reject(new Error(String(reader.error)));
    reader.readAsDataURL(this.files[0].slice(from, to));
  });
}"""


async def give(world: World, handle: str, files: list[Path], most_bytes: int) -> None:
    """Into the file field that is this object of the world."""
    if sum(file.stat().st_size for file in files) > most_bytes:
        raise Failure("over_limit", f"the files are larger than {most_bytes} bytes together", retryable=False)
    key = secrets.token_hex(8)
    try:
        for at, file in enumerate(files):
            data = await asyncio.to_thread(file.read_bytes)
            kind = mimetypes.guess_type(file.name)[0] or ""
            for start in range(0, max(len(data), 1), PART_BYTES):
                part = base64.b64encode(data[start : start + PART_BYTES]).decode()
                await _run(world, handle, _ADD, key, at, file.name, kind, part)
        await _run(world, handle, _PUT, key)
    except BaseException:
        told = [{"value": key}]
        world.channel.post("Runtime.callFunctionOn", objectId=handle, functionDeclaration=_FORGET, arguments=told)
        raise


async def given_node(world: World, node: int) -> str:
    """A field that the browser named by its own number, as an object of the world."""
    try:
        reply = await world.channel.send("DOM.resolveNode", backendNodeId=node, executionContextId=world.context_id)
    except ProtocolError as error:
        raise WorldGone(error.reason) from error
    return str(reply["object"].get("objectId", ""))


async def _run(world: World, handle: str, function: str, *args: Any) -> None:
    try:
        reply = await world.channel.send(
            "Runtime.callFunctionOn",
            objectId=handle,
            functionDeclaration=function,
            arguments=[{"value": arg} for arg in args],
            timeout=PART_S,
        )
    except ProtocolError as error:
        raise WorldGone(error.reason) from error
    if "exceptionDetails" in reply:
        raise Failure("page_error", "the page does not take the file")


async def bring(context: Context, far_path: str, folder: Folder, name: str) -> int:
    """A file of the browser's machine into the folder, under a name that is ours; how many bytes it has, and has
    taken of the folder."""
    async with backroom(context) as room:
        field = await _field(room.channel, far_path)
        target, at, size = folder.path / name, 0, 1
        with target.open("xb") as file:
            try:
                while at < size:
                    size, part = await _read(room.channel, field, at)
                    if at < size and not 0 < len(part) <= PART_BYTES:
                        raise Failure("browser_gone", "the browser does not give the file")
                    folder.take(len(part))  # before it is here: several may come at once, and sizes may be lies
                    at += len(part)
                    await asyncio.to_thread(file.write, part)
            except BaseException:
                target.unlink(missing_ok=True)
                folder.give_back(at)
                raise
    return at


async def _field(channel: Channel, far_path: str) -> str:
    reply = await channel.send("Runtime.evaluate", expression=_FIELD, timeout=PART_S)
    field = str(reply["result"]["objectId"])
    await channel.send("DOM.setFileInputFiles", files=[far_path], objectId=field, timeout=PART_S)
    return field


async def _read(channel: Channel, field: str, at: int) -> tuple[int, bytes]:
    reply = await channel.send(
        "Runtime.callFunctionOn",
        objectId=field,
        functionDeclaration=_READ,
        arguments=[{"value": at}, {"value": at + PART_BYTES}],
        awaitPromise=True,
        returnByValue=True,
        timeout=PART_S,
    )
    try:
        size, text = reply["result"]["value"]
        return int(size), base64.b64decode(text, validate=True)
    except (KeyError, ValueError, TypeError):
        raise Failure("browser_gone", "the browser does not give the file") from None
