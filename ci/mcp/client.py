"""The official Python client against a running server: it lists the tools, reads, writes after an approval, and reads
the rest of a long answer. Arguments: those of installation.py."""

import asyncio

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from installation import AGENT_KEY, LONG, SECRET, SERVER, TOOLS, approved, check_sent, start_upstream


async def check(mode, upstream):
    http_client = httpx2.AsyncClient(headers={"authorization": f"Bearer {AGENT_KEY}"}, timeout=60)
    client = Client(streamable_http_client(SERVER + "/mcp", http_client=http_client), mode=mode)
    async with http_client, client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == TOOLS, names
        call = {"credential": "python", "url": f"{upstream}/things"}
        read = await client.call_tool("call", call)
        assert read.structured_content["status"] == 200, read
        assert SECRET not in read.model_dump_json(), read
        written = await approved(client.call_tool("call", call | {"method": "POST", "body": {"mode": mode}}))
        assert written.structured_content["status"] == 200, written
        long = await client.call_tool("call", call | {"url": f"{upstream}/long"})
        rest, text = long.structured_content["rest"]["uri"], long.structured_content["body"]
        while rest:
            part = (await client.read_resource(rest)).contents[0]
            text += part.text
            rest = (part.meta or {}).get("pyxis/next")
        assert text == LONG
    check_sent({"mode": mode})
    print(f"python client: {mode}: passed")


def main():
    upstream = start_upstream("python")
    for mode in ("2026-07-28", "legacy"):
        asyncio.run(asyncio.wait_for(check(mode, upstream), 60))


main()
