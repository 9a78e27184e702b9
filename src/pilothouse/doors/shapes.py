"""Our tools and answers in the shapes MCP gives them.

Above: mcp. Below: gate and tool, whose data they are.
"""

import base64
from typing import Any

from pilothouse.call import Answer
from pilothouse.tool import Access, Tool

Wire = dict[str, Any]


def tool_to_wire(tool: Tool) -> Wire:
    described: Wire = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": _listed(tool),
        "outputSchema": tool.output_schema,
    }
    # The protocol assumes the worst of a tool that says nothing, which is right for writes and saves their tokens.
    if tool.access is Access.READ and not tool.sensitive:
        described["annotations"] = {"readOnlyHint": True}
    elif tool.access is Access.VISIT:
        described["annotations"] = {"destructiveHint": False}
    return described


def _listed(tool: Tool) -> Wire:
    """That nothing else is taken would cost five tokens a tool, and is not so: other names are understood (tool.py).
    What is not, the tool refuses, and says what it takes."""
    return {key: value for key, value in tool.input_schema.items() if key != "additionalProperties"}


def answer_to_wire(answer: Answer) -> Wire:
    content: list[Wire] = [{"type": "text", "text": answer.text}] if answer.text or not answer.images else []
    content += [
        {"type": "image", "data": base64.b64encode(image.data).decode(), "mimeType": image.mime_type}
        for image in answer.images
    ]
    result: Wire = {"content": content, "structuredContent": answer.data}
    return {**result, "isError": True} if answer.failed else result
