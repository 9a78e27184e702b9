"""A page that is busy: a thousand requests, six at a time, and ten thousand lines in its console."""

import asyncio

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from tests.proxy.apps import App

REQUESTS = 1_000
LINES = 10_000
ANSWER_S = 0.02  # what an app takes that asks its database

PAGE = f"""<!doctype html><title>Busy</title><link rel=icon href="data:,"><script>
async function work(from, pause) {{
  for (let one = from; one < {REQUESTS}; one += 6) {{
    const answer = await told(await fetch(`/tick/${{one}}`));
    for (let line = 0; line < {LINES // REQUESTS}; line += 1) console.log('line', one * 10 + line, answer);
    if (pause) await new Promise((done) => setTimeout(done, pause));
  }}
}}
async function told(response) {{
  const text = await response.text();
  try {{ return JSON.parse(text); }}
  catch (problem) {{
    const length = response.headers.get('content-length');
    throw new Error(`${{response.url}}: ${{response.status}}, ${{text.length}} of ${{length}} characters: ${{text.slice(0, 200)}}`);
  }}
}}
async function busy(pause = 0) {{
  const began = performance.now();
  await Promise.all([0, 1, 2, 3, 4, 5].map((from) => work(from, pause)));
  return performance.now() - began;
}}
</script>"""


class Busy(App):
    def __init__(self) -> None:
        super().__init__()
        routes = [Route("/busy", lambda request: HTMLResponse(PAGE)), Route("/tick/{n:int}", self._tick)]
        self.asgi = Starlette(routes=routes)

    async def _tick(self, request: Request) -> Response:
        await asyncio.sleep(ANSWER_S)
        return JSONResponse({"n": request.path_params["n"], "name": "a thing", "tags": ["one", "two", "three"]})
