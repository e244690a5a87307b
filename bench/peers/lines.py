"""A peer as a process: one JSON command a line on stdin, one JSON answer a line on stdout.

`python X-peer.py <folder of the set> <own folder> [kind]`. The set is `rows.f32` and `queries.f32`,
little-endian float32 unit vectors one after the other. Row i has the id i and the bucket i % 1000.

  {"command": "load"}                                       -> {"versions": "..."}
  {"command": "search", "clients", "from", "count",
   "durationMs", "keep", "setting"}                         -> {"latenciesMs", "elapsedMs", "found"}

`keep` of 1000 buckets pass the filter; 1000 means no filter. `found` is the ids of each search.
"""

import json
import sys
import threading
import time
from pathlib import Path

import numpy

DIMENSIONS = 384
BUCKETS = 1000
K = 10


class Vectors:
    def __init__(self, folder):
        self.rows = self._read(folder, "rows.f32")
        self.queries = self._read(folder, "queries.f32")
        self.ids = numpy.arange(len(self.rows), dtype=numpy.int64)
        self.buckets = self.ids % BUCKETS

    @staticmethod
    def _read(folder, name):
        flat = numpy.memmap(Path(folder) / name, dtype="<f4", mode="r")
        return flat.reshape(-1, DIMENSIONS)


def serve(peer_of):
    """@param peer_of(vectors, folder, kind) -> an object with versions, load(), client(),
    query(index) -> what a search takes, search(client, query, keep, setting) -> ids, and close().
    `address`, if it has one, is where other clients reach it."""
    set_folder, own_folder, kind = (sys.argv[1:] + [""])[:3]
    peer = peer_of(Vectors(set_folder), Path(own_folder), kind)
    clients = []
    address = getattr(peer, "address", None)
    print(json.dumps({"versions": peer.versions, "address": address}), flush=True)
    try:
        for line in sys.stdin:
            command = json.loads(line)
            if command["command"] == "load":
                peer.load()
                answer = {}
            else:
                while len(clients) < command["clients"]:
                    clients.append(peer.client())
                answer = measured(peer, clients[: command["clients"]], command)
            print(json.dumps(answer), flush=True)
    finally:
        peer.close()


def measured(peer, clients, command):
    """A closed loop: each client asks its next question when the last one is answered."""
    count, first = command["count"], command["from"]
    places = iter(range(count))
    queries = [peer.query(first + place) for place in range(count)]
    found = [None] * count
    latencies, failures, lock = [], [], threading.Lock()
    started = time.perf_counter()

    def ask(client):
        while time.perf_counter() - started < command["durationMs"] / 1000:
            with lock:
                place = next(places, None)
            if place is None or failures:
                return
            sent = time.perf_counter()
            try:
                ids = peer.search(client, queries[place], command["keep"], command["setting"])
            except Exception as error:  # told to the caller below
                failures.append(error)
                return
            latencies.append((time.perf_counter() - sent) * 1000)
            found[place] = [int(one) for one in ids]

    if len(clients) == 1:
        ask(clients[0])
    else:
        threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    elapsed = (time.perf_counter() - started) * 1000
    return {"latenciesMs": latencies, "elapsedMs": elapsed, "found": found}


def text_of(vector):
    return "[" + ",".join(repr(float(part)) for part in vector) + "]"
