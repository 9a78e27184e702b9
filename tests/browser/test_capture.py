"""Pictures: of the right thing, in the right format, of the size that is told."""

import base64
import struct
from pathlib import Path

import pytest

from pilothouse.browser import capture
from pilothouse.call import Answer
from tests.browser.looking import fails, put, ref
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A15")


def size_of(data: bytes, mime_type: str) -> tuple[int, int]:
    """Width and height as the file's own header tells them."""
    if mime_type == "image/png":
        return struct.unpack(">II", data[16:24])
    if mime_type == "image/webp":
        assert data[12:16] == b"VP8X"
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    at = 2
    while data[at + 1] not in (0xC0, 0xC2):
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    height, width = struct.unpack(">HH", data[at + 5 : at + 9])
    return width, height


async def shot(agent: Agent, **options: object) -> tuple[Answer, tuple[int, int]]:
    answer = await agent.ask("screenshot", **options)
    assert not answer.failed, answer.text
    (image,) = answer.images
    size = size_of(image.data, image.mime_type)
    assert (answer.data["width"], answer.data["height"]) == size
    assert answer.data["timestamp"] > 1_700_000_000_000
    return answer, size


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp"])
async def test_the_viewport_in_every_format(agent: Agent, site: PageServer, kind: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    answer, size = await shot(agent, format=kind)
    assert answer.images[0].mime_type == f"image/{kind}"
    assert size == (1280, 800)


async def test_quality_matters(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    poor, _ = await shot(agent, quality=5)
    good, _ = await shot(agent, quality=95)
    assert len(poor.images[0].data) < len(good.images[0].data) / 2
    await fails(agent, "bad_request", "screenshot", quality=0)


async def test_the_whole_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("scroll.html"))
    height = await agent.js("document.documentElement.scrollHeight")
    _, size = await shot(agent, full_page=True)
    assert size == (1280, height)
    assert await agent.js("[innerWidth, innerHeight, scrollY]") == [1280, 800, 0]


async def test_a_page_longer_than_can_be_drawn(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, "<div style='height:40000px;width:100px;background:linear-gradient(red,blue)'></div>")
    answer, size = await shot(agent, full_page=True, quality=20)
    assert size[1] <= 16384
    assert "scaled" in answer.text


@pytest.mark.parametrize("style", ["width:100px;height:50px", "width:33.3px;height:21.7px;margin:0.4px"])
async def test_an_element(agent: Agent, site: PageServer, style: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await put(agent, f"<div style='height:2000px'></div><div id=box style='{style};background:red'></div>")
    _, size = await shot(agent, target="#box", format="png")
    width, height = await agent.js("(({ width, height }) => [width, height])(box.getBoundingClientRect())")
    assert width <= size[0] <= width + 2
    assert height <= size[1] <= height + 2


@promise("A21")
@pytest.mark.parametrize("name", ["Same", "Inner", "Cross", "Home"])
async def test_an_element_in_a_frame(agent: Agent, site: PageServer, name: str) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    button = await ref(agent, f'button "{name} button"')
    await agent.call(
        "evaluate_js",
        target=button,
        expression="element.style.cssText = 'all:unset;display:block;width:60px;height:30px;background:#f00;color:#f00';"
        " return 0",
    )
    answer, size = await shot(agent, target=button, format="png")
    assert size == (60, 30)
    colours = await agent.call(
        "evaluate_js",
        expression="""async (data) => {
          const image = await createImageBitmap(await (await fetch(data)).blob());
          const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
          canvas.drawImage(image, 0, 0);
          return [[5, 5], [55, 25]].map(([x, y]) => [...canvas.getImageData(x, y, 1, 1).data].join());
        }""",
        args=[_data_url(answer)],
    )
    assert colours["value"] == ["255,0,0,255"] * 2


def _data_url(answer: Answer) -> str:
    image = answer.images[0]
    return f"data:{image.mime_type};base64,{base64.b64encode(image.data).decode()}"


async def test_marks_are_drawn_and_taken_away(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    plain, _ = await shot(agent, format="png")
    marked, _ = await shot(agent, format="png", marks=True)
    after, _ = await shot(agent, format="png")
    assert plain.images[0].data != marked.images[0].data
    assert plain.images[0].data == after.images[0].data


async def test_a_wide_page_is_scaled_down(agent: Agent, site: PageServer) -> None:
    await agent.call("open_session", viewport={"width": 3000, "height": 1000})
    await agent.call("navigate", url=site.url("small.html"))
    answer, size = await shot(agent)
    assert size[0] <= 1568
    assert "scaled" in answer.text


async def test_what_cannot_be_pictured(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("covered.html"))
    await fails(agent, "not_actionable", "screenshot", target="#hidden")
    await fails(agent, "not_found", "screenshot", target="#nowhere")


@promise("B12")
async def test_a_tab_in_the_background(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("busy.html"))
    _, size = await shot(agent, tab="t1")
    assert size == (1280, 800)


@promise("C07")
async def test_a_picture_that_is_too_large_to_show_is_kept(
    agent: Agent, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    monkeypatch.setattr(capture, "MAX_BYTES", 100)
    answer = await agent.ask("screenshot", format="png")
    path = answer.data["path"]
    assert answer.images == []
    assert f"too large to show: kept in {path}" in answer.text
    assert size_of(Path(path).read_bytes(), "image/png") == (answer.data["width"], answer.data["height"])
