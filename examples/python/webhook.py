"""Receives approval events and checks that they come from Pyxis. Standard library only.

Put it behind whatever ends TLS for you: Pyxis posts to https addresses only.
"""

import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

TOLERANCE = 300  # seconds by which the time of a signature may differ from ours
MAX_BODY = 1 << 20


def is_genuine(secret, header, body, now):
    """True if `header` signs the raw bytes `body`. While a secret is replaced, there are two v1."""
    time_text, signatures = None, []
    for part in header.split(","):
        name, _, value = part.partition("=")
        if name == "t":
            time_text = value
        elif name == "v1":
            signatures.append(value)
    if time_text is None or not time_text.isdigit() or abs(now - int(time_text)) > TOLERANCE:
        return False
    expected = hmac.new(secret.encode(), time_text.encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(hmac.compare_digest(expected.encode(), found.encode()) for found in signatures)


class Receiver(BaseHTTPRequestHandler):
    seen = set()  # keep these in your database: a delivery can come again after a restart of yours

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if length > MAX_BODY:
            return self.answer(413)
        body = self.rfile.read(length)
        signature = self.headers.get("PX-Signature", "")
        if not is_genuine(self.server.secret, signature, body, time.time()):
            return self.answer(401)
        delivery = self.headers["PX-Delivery"]
        if delivery not in self.seen:
            self.seen.add(delivery)
            event = json.loads(body)
            print(json.dumps({"delivery": delivery, "event": event["event"], "txn_id": event.get("txn_id")}), flush=True)
        # Answer soon: after ten seconds it counts as failed and comes again.
        return self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def main():
    server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
    server.secret = os.environ["PYXIS_WEBHOOK_SECRET"]
    print(json.dumps({"port": server.server_address[1]}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
