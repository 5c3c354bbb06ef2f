"""A running server for the checks of this folder: its administration, an upstream for its calls, and the first four
arguments of each check. They are the server's URL, the agent key, the owner's token and the program `pyxis`."""

import asyncio
import http.server
import json
import sys
import threading
import time
import urllib.request

SERVER, AGENT_KEY, OWNER_TOKEN, PROGRAM = sys.argv[1:5]
SECRET = "python-client-secret-0123456789"
LONG = "ä" * 100_000
TOOLS = ["services", "call", "propose_task", "wait", "withdraw", "explain"]


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
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        waiting = admin("GET", "/approvals?state=pending")["approvals"]
        if waiting:
            admin("POST", f"/approvals/{waiting[0]['txn_id']}/approve", {})
            return
    raise AssertionError("no request waits for approval")


async def approved(calling):
    """The result of a call that a person approves meanwhile."""
    approving = asyncio.create_task(asyncio.to_thread(approve_the_next))
    result = await calling
    await approving
    return result


def check_sent(body):
    """The only POST came with the secret and this body."""
    sent = [request for request in Upstream.received if request[0] == "POST"]
    expected = ("POST", "/things", f"Bearer {SECRET}", json.dumps(body, separators=(",", ":")).encode())
    assert sent == [expected], sent
    Upstream.received.clear()


def start_upstream(name):
    """Serves an upstream, stores a credential of this name for it, and returns its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    admin("POST", "/admin/credentials", {
        "name": name, "auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": ["127.0.0.1"], "allow_http": True,
    })
    return f"http://127.0.0.1:{server.server_port}"
