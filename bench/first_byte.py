"""The delay between an upstream's first byte and its arrival at a client, for bench/run.sh.

first_byte.py serve
    serves streamed answers on loopback and prints its address
first_byte.py measure COUNT UPSTREAM SERVER KEY PROXY AUTHORIZATION
    prints the delays of COUNT answers each: direct, through /forward, and through the proxy of `pyxis run`

The upstream writes the time into its first chunk. Both sides read the same monotonic clock of the machine.
"""

import re
import socket
import sys
import threading
import time

# Seconds between the first chunk and the last one.
PAUSE = 0.005
FIRST = re.compile(rb"first:(\d+);")
END = b"last;\r\n0\r\n\r\n"


def chunk(text):
    return b"%x\r\n%s\r\n" % (len(text), text)


def answer(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    received = b""
    while more := connection.recv(65536):
        received += more
        # Requests without a body, one after the other.
        while b"\r\n\r\n" in received:
            received = received.split(b"\r\n\r\n", 1)[1]
            connection.sendall(head + chunk(b"first:%d;" % time.monotonic_ns()))
            time.sleep(PAUSE)
            connection.sendall(chunk(b"last;") + b"0\r\n\r\n")


def serve():
    listener = socket.create_server(("127.0.0.1", 0))
    print("%s:%d" % listener.getsockname(), flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def measure(count, address, request):
    """Delays in microseconds, in order of size."""
    host, port = address.removeprefix("http://").split(":")
    delays = []
    with socket.create_connection((host, int(port))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            connection.sendall(request)
            received = b""
            while not (first := FIRST.search(received)):
                received += connection.recv(65536) or sys.exit(f"{address} answered {received!r}")
            delays.append((time.monotonic_ns() - int(first[1])) / 1000)
            while not received.endswith(END):
                received += connection.recv(65536) or sys.exit(f"{address} broke off")
    return sorted(delays)


def head(line, fields):
    return "\r\n".join([line + " HTTP/1.1", *("%s: %s" % field for field in fields.items()), "", ""]).encode()


def report(count, upstream, server, key, proxy, authorization):
    target = f"http://{upstream}/stream"
    control = {"X-PX-Key": key, "X-PX-Credential": "bench", "X-PX-Target": target, "X-PX-Method": "GET"}
    ways = {
        "direct": (upstream, head("GET /stream", {"Host": upstream})),
        "forward": (server, head("POST /forward", {"Host": server[7:], "Content-Length": 0} | control)),
        "run": (proxy, head(f"GET {target}", {"Host": upstream, "Proxy-Authorization": authorization})),
    }
    print(f"first byte of {count} streamed answers, after the upstream wrote it")
    print("%-10s %9s %9s" % ("way", "p50 µs", "p99 µs"))
    medians = {}
    for name, (address, request) in ways.items():
        measure(min(count, 20), address, request)  # warm up
        delays = measure(count, address, request)
        medians[name] = delays[len(delays) // 2]
        print("%-10s %9.0f %9.0f" % (name, medians[name], delays[len(delays) * 99 // 100]))
    print("pyxis run: first byte %.2f ms after the upstream's (goal: at most 1 ms)" % (medians["run"] / 1000))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        report(int(sys.argv[2]), *sys.argv[3:])
