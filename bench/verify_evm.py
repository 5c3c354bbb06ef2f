"""500 addresses at an old height: Pyxis with an EVM node behind it, and one hand-made Multicall of the same calls
to the same node, in turn.

verify_evm.py prepare RPC CONTRACTS     deploys, mints and moves on; prints PX_NETWORKS and the height
verify_evm.py measure RPC PYXIS HEIGHT NETWORKS ROUNDS

CONTRACTS is a folder with what solc made of ci/chain/Proofs.sol.
"""

import http.client
import json
import pathlib
import statistics
import sys
import time

ADDRESSES = 500
HOLDERS = 250
ACTION, ISSUER = 123456789, 77
CIRCUIT = "07" * 32
SENDER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"


class Server:
    """One keep-alive connection."""

    def __init__(self, url):
        self.connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"))
        self.connection.connect()

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body, {"content-type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text[:500]
        return text

    def rpc(self, method, *params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        answer = json.loads(self.ask("POST", "/", body))
        assert "error" not in answer, answer
        return answer["result"]


def word(number):
    return f"{number:064x}"


def address(number):
    return f"{number + 0x1000:040x}"


def selector(node, signature):
    return node.rpc("web3_sha3", "0x" + signature.encode().hex())[2:10]


def deploy(node, contracts, name):
    code = next(pathlib.Path(contracts).glob(f"*_{name}.bin")).read_text().strip()
    sent = node.rpc("eth_sendTransaction", {"from": SENDER, "data": "0x" + code})
    # It is mined at once, but not before the answer.
    while not (receipt := node.rpc("eth_getTransactionReceipt", sent)):
        pass
    return receipt["contractAddress"]


def prepare(rpc, contracts):
    node = Server(rpc)
    proofs, multicall = deploy(node, contracts, "Proofs"), deploy(node, contracts, "Multicall")
    mint = selector(node, "mint(address,bytes32,uint256,uint256,uint256)")
    revoke = selector(node, "revoke(address,bytes32)")
    expiry = int(time.time()) + 365 * 24 * 3600
    node.rpc("evm_setAutomine", False)

    def all_in_one_block(calls):
        for data in calls:
            node.rpc("eth_sendTransaction", {"from": SENDER, "to": proofs, "data": "0x" + data, "gas": hex(300_000)})
        # A block holds only so much.
        while int(node.rpc("txpool_status")["pending"], 16):
            node.rpc("evm_mine")
        return int(node.rpc("eth_blockNumber"), 16)

    who = [word(int(address(number), 16)) for number in range(HOLDERS)]
    height = all_in_one_block(
        mint + one + CIRCUIT + word(expiry) + word(ACTION) + word(ISSUER) for one in who
    )
    all_in_one_block(revoke + one + CIRCUIT for one in who)
    for _ in range(20):
        node.rpc("evm_mine")
    hub = {"address": proofs, "circuits": {"gov-id": {"id": "0x" + CIRCUIT, "issuer": str(ISSUER)}}}
    # Nothing counts as final, so nothing comes from memory.
    network = {"rpc": [rpc], "multicall": multicall, "confirmations": 1_000_000_000, "sources": ["evm"],
               "contracts": {"hub": hub}}
    print(json.dumps({"optimism": network}))
    print(height)


def by_hand(node, network, height):
    """The body of one eth_call of Multicall3 for every address."""
    get = selector(node, "getSBT(address,bytes32)")
    target = word(int(network["contracts"]["hub"]["address"], 16))
    calls = []
    for number in range(ADDRESSES):
        data = get + word(int(address(number), 16)) + CIRCUIT
        padded = data + "0" * (-len(data) % 64)
        calls.append(target + word(1) + word(96) + word(len(data) // 2) + padded)
    size = len(calls[0]) // 2
    offsets = "".join(word(32 * ADDRESSES + size * number) for number in range(ADDRESSES))
    data = selector(node, "aggregate3((address,bool,bytes)[])") + word(32) + word(ADDRESSES) + offsets + "".join(calls)
    call = {"to": network["multicall"], "data": "0x" + data}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [call, hex(height)]})


def measure(rpc, pyxis, height, networks, rounds):
    node, server = Server(rpc), Server(pyxis)
    network = json.loads(networks)["optimism"]
    body = by_hand(node, network, int(height))
    everybody = ",".join("0x" + address(number) for number in range(ADDRESSES))
    path = (
        f"/snapshot-strategies/sybil-resistance/gov-id?network=10&snapshot={height}"
        f"&action-id={ACTION}&addresses={everybody}"
    )
    took = {"by hand": [], "Pyxis": []}
    for _ in range(int(rounds) + 3):
        begun = time.perf_counter()
        told = node.ask("POST", "/", body)
        between = time.perf_counter()
        scored = server.ask("GET", path)
        ended = time.perf_counter()
        took["by hand"].append((between - begun) * 1000)
        took["Pyxis"].append((ended - between) * 1000)
        assert "result" in json.loads(told), told[:500]
        assert sum(one["score"] for one in json.loads(scored)["score"]) == HOLDERS
    hand, ours = (statistics.median(took[name][3:]) for name in ("by hand", "Pyxis"))
    print(f"{ADDRESSES} addresses at an old height, medians of {rounds}, milliseconds")
    print(f"Multicall by hand {hand:.1f}, Pyxis {ours:.1f} ({ours / hand:.2f} times)")


if __name__ == "__main__":
    {"prepare": prepare, "measure": measure}[sys.argv[1]](*sys.argv[2:])
