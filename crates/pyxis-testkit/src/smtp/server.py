"""A mail server for tests. Standard input has one JSON object per line: the settings first, then questions. Standard
output has the port, then for each question everything that happened since the one before."""

import asyncio
import email
import email.policy
import json
import ssl
import sys
import tempfile

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

happened = []
attempts = {}


def context(settings):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(settings["certificate"] + settings["key"])
        file.flush()
        context.load_cert_chain(file.name)
    return context


class Handler:
    """Recipients choose the answer: `refused@` is unknown, `later@` and `busy@` are accepted the second time."""

    async def handle_MAIL(self, server, session, envelope, address, options):
        happened.append({"kind": "sender", "address": address})
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        attempts[address] = attempts.get(address, 0) + 1
        happened.append({"kind": "recipient", "address": address})
        if address.startswith("refused@"):
            return "550 5.1.1 No such user here"
        if address.startswith("later@") and attempts[address] == 1:
            return "451 4.7.1 Greylisted, try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.original_content, policy=email.policy.default)
        part = lambda kind: mail.get_body((kind,)).get_content().replace("\r\n", "\n")
        is_busy = any(to.startswith("busy@") and attempts[to] == 1 for to in envelope.rcpt_tos)
        happened.append({
            "kind": "mail",
            "accepted": not is_busy,
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "login": session.auth_data,
            "is_encrypted": server.transport.get_extra_info("ssl_object") is not None,
            "headers": [[name, str(value)] for name, value in mail.items()],
            "defects": [repr(defect) for part in mail.walk() for defect in part.defects],
            "parts": [part.get_content_type() for part in mail.walk()],
            "plain": part("plain"),
            "html": part("html"),
            "raw": envelope.original_content.decode("ascii"),
        })
        return "451 4.3.0 Try again later" if is_busy else "250 2.0.0 Queued"


def authenticator(settings):
    def check(server, session, envelope, mechanism, data):
        is_right = isinstance(data, LoginPassword) and data.password.decode() == settings["password"]
        happened.append({"kind": "sign-in", "mechanism": mechanism, "name": data.login.decode(), "is_right": is_right})
        return AuthResult(success=is_right, handled=False, auth_data=data.login.decode())

    return check


async def main():
    loop = asyncio.get_running_loop()
    questions = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    settings = json.loads(await questions.readline())
    tls = context(settings) if settings["encryption"] != "none" else None
    starttls = tls if settings["encryption"] == "starttls" else None

    def connection():
        return SMTP(
            Handler(),
            tls_context=starttls,
            require_starttls=starttls is not None,
            authenticator=authenticator(settings),
            auth_required=True,
            # It does not know that a connection was encrypted from its start.
            auth_require_tls=starttls is not None,
            auth_exclude_mechanism=settings["without"],
            hostname="mail.test",
            loop=loop,
        )

    implicit = tls if settings["encryption"] == "tls" else None
    server = await loop.create_server(connection, "127.0.0.1", settings["port"], ssl=implicit)
    print(server.sockets[0].getsockname()[1], flush=True)
    while await questions.readline():
        print(json.dumps(happened), flush=True)
        happened.clear()


asyncio.run(main())
