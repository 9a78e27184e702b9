"""PDF: the page as it would be printed."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import pdf
from pilothouse.browser.tab import Tab
from pilothouse.result import Result, counted
from pilothouse.tool import Access, tool

Template = Annotated[str, Meta(max_length=10_000)]


class Printed(msgspec.Struct):
    path: str
    bytes: int
    pages: int


@tool(
    Access.READ,
    queued=True,
    example={},
    synonyms={"page_ranges": "pages", "pageRanges": "pages", "print_background": "background"},
)
async def print_to_pdf(
    tab: Tab,
    format: Literal["letter", "legal", "tabloid", "a3", "a4", "a5"] = "a4",  # noqa: A002 (the usual name)
    landscape: bool = False,
    scale: Annotated[float, Meta(ge=0.1, le=2)] = 1,
    background: bool = True,
    pages: Annotated[str, Meta(max_length=1000, description="1-3,5")] = "",
    margin: Annotated[float, Meta(ge=0, le=10, description="inches")] = 0.4,
    header: Annotated[Template, Meta(description="HTML")] = "",
    footer: Template = "",
) -> Result[Printed]:
    """Print the page to a PDF file."""
    paper = pdf.Paper(
        size=format,
        landscape=landscape,
        scale=scale,
        background=background,
        pages=pages,
        margin=margin,
        header=header,
        footer=footer,
    )
    done = await pdf.print_page(tab, paper)
    text = f"{counted(done.pages, 'page')}, {done.size} bytes: {done.path}"
    return Result(text, Printed(str(done.path), done.size, done.pages))
