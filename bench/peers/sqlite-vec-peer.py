"""sqlite-vec's exact search in process: a vec0 table with the bucket as a metadata column."""

import apsw
import sqlite_vec
from lines import BUCKETS, DIMENSIONS, K, serve


class SqliteVecPeer:
    versions = f"sqlite-vec {sqlite_vec.__version__}, SQLite {apsw.sqlite_lib_version()}"

    def __init__(self, vectors, folder, _kind):
        self.vectors, self.path = vectors, str(folder / "vectors.sqlite")

    def load(self):
        connection = self.client()
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(
            f"""CREATE VIRTUAL TABLE vectors USING vec0(
                id INTEGER PRIMARY KEY, bucket INTEGER,
                vector FLOAT[{DIMENSIONS}] distance_metric=cosine)"""
        )
        rows = (
            (int(key), int(bucket), row.tobytes())
            for key, bucket, row in zip(self.vectors.ids, self.vectors.buckets, self.vectors.rows)
        )
        with connection:
            connection.executemany("INSERT INTO vectors VALUES (?, ?, ?)", rows)
        connection.close()

    def client(self):
        connection = apsw.Connection(self.path)
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
        return connection

    def query(self, index):
        return self.vectors.queries[index % len(self.vectors.queries)].tobytes()

    def search(self, client, query, keep, _setting):
        condition = "" if keep == BUCKETS else f"AND bucket < {keep}"
        sql = f"SELECT id FROM vectors WHERE vector MATCH ? AND k = {K} {condition}"
        return [row[0] for row in client.execute(sql, (query,))]

    def close(self):
        pass


serve(SqliteVecPeer)
