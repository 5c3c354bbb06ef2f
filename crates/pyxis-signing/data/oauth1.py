#!/usr/bin/env python3
"""Writes oauth1.jsonl: generated requests, signed by oauthlib (pip install oauthlib==3.2.2).

Usage: oauth1.py > oauth1.jsonl
The same seed gives the same file.
"""
import json
import random
import urllib.parse

from oauthlib.oauth1 import Client
from oauthlib.oauth1.rfc5849 import SIGNATURE_TYPE_AUTH_HEADER

CASES = 3000
# Further ones, some of whose parameters have no "=".
BARE_CASES = 600
RANDOM = random.Random(5849)
ALPHABET = "abcXYZ019-._~!*'() +&=%/?#:@$,;\"<>[]{}|^`éß€漢字😀\t"
HOSTS = ["example.com", "API.Example.com", "a.b-c.example", "192.0.2.7", "[2001:db8::1]", "xn--bcher-kva.example"]
PORTS = ["", ":80", ":443", ":8080", ":8443"]
SAFE = "abcXYZ019-._~"


def word(low, high, alphabet=ALPHABET):
    return "".join(RANDOM.choice(alphabet) for _ in range(RANDOM.randint(low, high)))


def escaped(text):
    """Percent-encodes, in one of the spellings that occur on the wire."""
    style = RANDOM.randrange(4)
    if style == 0:
        return urllib.parse.quote(text, safe="")
    if style == 1:
        return urllib.parse.quote_plus(text, safe="")
    if style == 2:
        return "".join("%%%02x" % byte for byte in text.encode())
    return urllib.parse.quote(text, safe="!*'()/:@,;$?")


def pairs():
    """Parameters, some of them empty, repeated or without a value."""
    out = []
    for _ in range(RANDOM.randint(0, 6)):
        name, value = word(1, 5), word(0, 8)
        if name.startswith("oauth_"):
            continue
        out.append((name, value))
        if RANDOM.random() < 0.2:
            out.append((name, word(0, 4)))
    return out


bare = False


def joined(items):
    out = []
    for name, value in items:
        text = escaped(name)
        if bare and RANDOM.random() < 0.4:
            out.append(text)
            continue
        out.append(text + "=" + escaped(value))
    return "&".join(out)


def path():
    """Without dots: the proxy resolves dot segments before it signs, oauthlib does not."""
    alphabet = SAFE.replace(".", "") + " é&=+"
    words = [word(0, 5, alphabet) for _ in range(RANDOM.randint(1, 3))]
    return "".join("/" + urllib.parse.quote(text, safe="-_~&=+") for text in words)


def case():
    scheme = RANDOM.choice(["http", "https"])
    url = scheme + "://" + RANDOM.choice(HOSTS) + RANDOM.choice(PORTS) + path()
    query = joined(pairs())
    if query:
        url += "?" + query
    method = RANDOM.choice(["GET", "POST", "PUT", "PATCH", "DELETE"])
    form = None
    if method != "GET" and RANDOM.random() < 0.6:
        form = joined(pairs())
    token = RANDOM.choice(["", word(1, 12)])
    given = {
        "ck": word(1, 12),
        "cs": word(0, 12),
        "t": token,
        "ts": word(0, 12) if token else "",
        "at": str(RANDOM.randint(1, 2**33)),
        "nonce": word(1, 16, SAFE),
        "m": method,
        "url": url,
    }
    client = Client(
        given["ck"],
        client_secret=given["cs"],
        resource_owner_key=given["t"] or None,
        resource_owner_secret=given["ts"] or None,
        signature_type=SIGNATURE_TYPE_AUTH_HEADER,
        timestamp=given["at"],
        nonce=given["nonce"],
    )
    headers = {}
    if form:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    _, signed, _ = client.sign(url, http_method=method, body=form or None, headers=headers)
    authorization = signed["Authorization"]
    given["sig"] = authorization.split('oauth_signature="')[1].split('"')[0]
    if form is not None:
        given["form"] = form
    return given


written = 0
while written < CASES + BARE_CASES:
    bare = written >= CASES
    try:
        made = case()
    except ValueError:
        continue  # oauthlib refuses some characters outright
    print(json.dumps(made, ensure_ascii=True, separators=(",", ":")))
    written += 1
