"""The official Python client against a running server: it lists the tools, reads, writes after an approval, and reads
the rest of a long answer. Arguments: the server's URL, the agent key, the owner's token, the port of the upstream."""

import asyncio
import http.server
import json
import sys
import threading
import urllib.request

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

SERVER, AGENT_KEY, OWNER_TOKEN = sys.argv[1:4]
SECRET = "python-client-secret-0123456789"
LONG = "ä" * 100_000


class Upstream(http.server.BaseHTTPRequestHandler):
    received = []

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.received.append((self.command, self.path, self.headers.get("authorization"), body))
        reply = LONG if self.path == "/long" else json.dumps({"key": self.headers.get("authorization")})
        reply = reply.encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain" if self.path == "/long" else "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def admin(method, path, body=None):
    request = urllib.request.Request(SERVER + path, method=method, data=json.dumps(body).encode() if body else None)
    request.add_header("authorization", f"Bearer {OWNER_TOKEN}")
    request.add_header("content-type", "application/json")
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or b"null")


def approve_the_next():
    """Approves the first request that waits."""
    while True:
        waiting = admin("GET", "/approvals?state=pending")["approvals"]
        if waiting:
            admin("POST", f"/approvals/{waiting[0]['txn_id']}/approve", {})
            return


async def check(mode, upstream):
    http_client = httpx2.AsyncClient(headers={"authorization": f"Bearer {AGENT_KEY}"}, timeout=60)
    client = Client(streamable_http_client(SERVER + "/mcp", http_client=http_client), mode=mode)
    async with http_client, client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["services", "call", "propose_task", "wait", "withdraw", "explain"], names
        call = {"credential": "python", "url": f"{upstream}/things"}
        read = await client.call_tool("call", call)
        assert read.structured_content["status"] == 200, read
        assert SECRET not in read.model_dump_json(), read
        approving = asyncio.create_task(asyncio.to_thread(approve_the_next))
        written = await client.call_tool("call", call | {"method": "POST", "body": {"mode": mode}})
        await approving
        assert written.structured_content["status"] == 200, written
        long = await client.call_tool("call", call | {"url": f"{upstream}/long"})
        rest, text = long.structured_content["rest"]["uri"], long.structured_content["body"]
        while rest:
            part = (await client.read_resource(rest)).contents[0]
            text += part.text
            rest = (part.meta or {}).get("pyxis/next")
        assert text == LONG
    sent = [request for request in Upstream.received if request[0] == "POST"]
    assert sent == [("POST", "/things", f"Bearer {SECRET}", json.dumps({"mode": mode}, separators=(",", ":")).encode())], sent
    Upstream.received.clear()
    print(f"python client: {mode}: passed")


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    admin("POST", "/admin/credentials", {
        "name": "python", "auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": ["127.0.0.1"],
        "allow_http": True,
    })
    for mode in ("2026-07-28", "legacy"):
        asyncio.run(asyncio.wait_for(check(mode, f"http://127.0.0.1:{server.server_port}"), 60))


main()
