#!/usr/bin/env python3
"""Writes ethereum.json: messages signed by eth-account (pip install eth-account==0.13.7).

Usage: ethereum.py > ethereum.json
"""
import json
import random

from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data

RANDOM = random.Random(712)


def key():
    return "%064x" % RANDOM.randrange(1, 2**255)


def entry(secret, payload, encoding, kind, message):
    signed = Account.sign_message(message, secret)
    return {
        "key": secret,
        "address": Account.from_key(secret).address,
        "payload": payload,
        "encoding": encoding,
        "format": kind,
        "signature": signed.signature.hex(),
    }


def order():
    address = lambda: Account.from_key(key()).address
    items = [
        {"sku": RANDOM.choice(["a", "käse", ""]), "price": str(RANDOM.randrange(2**256)), "tags": ["0x%08x" % RANDOM.randrange(2**32) for _ in range(RANDOM.randrange(3))]}
        for _ in range(RANDOM.randrange(3))
    ]
    return {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "Order": [
                {"name": "maker", "type": "address"},
                {"name": "delta", "type": "int64"},
                {"name": "open", "type": "bool"},
                {"name": "data", "type": "bytes"},
                {"name": "items", "type": "Item[]"},
                {"name": "pair", "type": "uint8[2]"},
            ],
            "Item": [
                {"name": "sku", "type": "string"},
                {"name": "price", "type": "uint256"},
                {"name": "tags", "type": "bytes4[]"},
            ],
        },
        "primaryType": "Order",
        "domain": {"name": "Shop", "chainId": RANDOM.randrange(1, 2**40), "verifyingContract": address()},
        "message": {
            "maker": address(),
            "delta": RANDOM.randrange(-(2**63), 2**63),
            "open": RANDOM.random() < 0.5,
            "data": "0x" + RANDOM.randbytes(RANDOM.randrange(40)).hex(),
            "items": items,
            "pair": [RANDOM.randrange(256), RANDOM.randrange(256)],
        },
    }


cases = []
for text in ["", "hello", "grüße 🌍", "x" * 300]:
    cases.append(entry(*(lambda k: (k, text, "utf8", "eip191", encode_defunct(text=text)))(key())))
for length in [1, 31, 32, 33, 100]:
    data = RANDOM.randbytes(length).hex()
    cases.append(entry(key(), "0x" + data, "hex", "eip191", encode_defunct(hexstr=data)))
for _ in range(40):
    data = order()
    given = json.loads(json.dumps(data))
    for item in given["message"]["items"]:
        item["price"] = int(item["price"])
    cases.append(entry(key(), json.dumps(data), "utf8", "eip712", encode_typed_data(full_message=given)))
print(json.dumps(cases, indent=1))
