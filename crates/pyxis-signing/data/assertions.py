#!/usr/bin/env python3
"""Writes jwt.json: tokens made by PyJWT (pip install "pyjwt[crypto]==2.10.1") with the keys beside it."""
import json
import pathlib

import jwt

HERE = pathlib.Path(__file__).parent
CLAIMS = {"aud": "https://token.example/", "exp": 1700000300, "iat": 1700000000, "iss": "me"}


def token(key, algorithm):
    return jwt.encode(CLAIMS, (HERE / key).read_text(), algorithm, headers={"kid": "k1"}, sort_headers=True)


print(json.dumps({"RS256": token("rsa.pem", "RS256"), "EdDSA": token("ed25519.pem", "EdDSA")}, indent=1))
