"""A custom approval page: what waits, and two buttons, on behalf of one person.

The token (scope px:approve) stays in this process; the browser never sees it. Python 3.9 or newer,
standard library only.

    PYXIS_URL=http://localhost:8700 PYXIS_TOKEN=px_pat_... python3 server.py

Anyone who reaches this page decides as the token's person: it listens on loopback only. Put your own
sign-in before it when you build on it.
"""

import html
import json
import os
import secrets
import sys
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BASE = os.environ.get("PYXIS_URL", "http://localhost:8700").rstrip("/")
TOKEN = os.environ["PYXIS_TOKEN"]
# A form must repeat it, so that no other site can press the buttons.
FORM_KEY = secrets.token_hex(16)
POLICY = "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


def call(method, path, body=None):
    """One call of the approvals API: the status and the JSON."""
    request = urllib.request.Request(BASE + path, method=method)
    request.add_header("Authorization", "Bearer " + TOKEN)
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def text(value):
    """Strangers wrote it: agents choose reasons, targets and bodies."""
    return html.escape(str(value))


def signature(signing):
    """The decoded content to sign: its approver answers for every word of it."""
    head = f"{text(signing['algorithm'])}, {text(signing['format'])}, digest {text(signing['digest'])}"
    warning = f'<p role="alert"><strong>{text(signing["warning"])}</strong></p>' if signing["warning"] else ""
    words = f"<p>The agent says:</p><blockquote>{text(signing['description'])}</blockquote>"
    typed = signing["typed"]
    if typed:
        what = {"path": "primaryType", "type": "", "value": typed["primary_type"]}
        domain = [{**field, "path": "domain." + field["path"]} for field in typed["domain"]]
        rows = (
            f"<tr><th>{text(field['path'])} {text(field['type'])}</th><td>{text(field['value'])}</td></tr>"
            for field in [what, *domain, *typed["message"]]
        )
        payload = f"<table>{''.join(rows)}</table>"
    else:
        payload = f"<pre>{text(signing['bytes'] if signing['text'] is None else signing['text'])}</pre>"
    return f"<p>Payload to sign: {head}</p>{warning}{payload}{words if signing['description'] else ''}"


def card(txn):
    """One request. The list has no bodies, and nobody should approve what they could not see."""
    _, one = call("GET", "/approvals/" + urllib.parse.quote(txn))
    signing = one.get("signing")
    body = one.get("body") or {"encoding": "utf-8", "content": ""}
    # What is no text comes as base64, and the page says so: it is not what will be sent letter for letter.
    kind = "" if body["encoding"] == "utf-8" else f"<p>{one['body_bytes']} bytes, as {text(body['encoding'])}:</p>"
    content = signature(signing) if signing else f"{kind}<pre>{text(body['content'])}</pre>"
    covers = one.get("grant_coverage")
    lately = (
        f"<p>A grant would have covered {covers['covered']} of the last {covers['looked_at']} requests.</p>"
        if covers
        else ""
    )
    action = "/" + urllib.parse.quote(one["txn_id"])
    # Every signature is approved separately.
    grant = '<button name="verb" value="grant">Approve, and the same for 30 minutes</button> '
    buttons = (
        f'<form method="post" action="{action}"><input type="hidden" name="key" value="{FORM_KEY}">'
        f'<button name="verb" value="approve">Approve</button> {"" if signing else grant}'
        '<label>Reason <input name="reason"></label> <button name="verb" value="deny">Deny</button></form>'
    )
    return (
        f"<article><h2>{text(one['method'])} {text(one['target'])}</h2>"
        f"<p>{text(one['agent_name'])} wants to use {text(one['credential_name'])}: "
        f"{text(one['reason'] or 'no reason given')}</p>"
        f"{content}{lately}{buttons}</article>"
    )


def answer_to(txn, verb, reason):
    """Passes the person's word on, and says what came of it."""
    if verb == "deny":
        body = {"reason": reason} if reason else {}
    else:
        body = {"grant_seconds": 1800, "agent_only": True} if verb == "grant" else {}
    path = f"/approvals/{urllib.parse.quote(txn)}/{'deny' if verb == 'deny' else 'approve'}"
    status, told = call("POST", path, body)
    if status == 200:
        count = f"{told['approvals']} of {told['min_approvals']}"
        return text(f"{told['status']} ({count} approvals)")
    if status == 412:
        # Only a passkey approves this, and a passkey works on the origin it was made for.
        return f'This request needs a passkey: <a href="{text(told["url"])}">approve it in Pyxis</a>'
    return text(f"{told['code']}: {told['detail']}")


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/":
            return self.show(404, "<p>Page not found.</p>")
        status, told = call("GET", "/approvals?state=pending")
        if status != 200:
            return self.show(502, f"<p>{text(told['code'])}: {text(told['detail'])}</p>")
        cards = "".join(card(one["txn_id"]) for one in told["approvals"])
        return self.show(200, cards or "<p>No pending requests.</p>")

    def do_POST(self):
        length = min(int(self.headers.get("Content-Length") or 0), 10_000)
        fields = urllib.parse.parse_qs(self.rfile.read(length).decode())
        first = {name: values[0] for name, values in fields.items()}
        if not secrets.compare_digest(first.get("key", ""), FORM_KEY):
            return self.show(403, "<p>This form is not valid. Reload the page.</p>")
        told = answer_to(self.path[1:], first.get("verb"), first.get("reason", ""))
        return self.show(200, f'<p role="status">{told}</p><p><a href="/">Back</a></p>')

    def show(self, status, body):
        page = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Approvals</title></head>'
            f"<body><main><h1>Approvals</h1>{body}</main></body></html>"
        ).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        """Paths hold transaction ids; they need no log."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8790
    server = ThreadingHTTPServer(("127.0.0.1", port), Page)
    print(f"http://localhost:{server.server_port}", flush=True)
    server.serve_forever()
