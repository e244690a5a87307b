"""DuckDB's exact scan in process: a table of FLOAT[384], ORDER BY and LIMIT."""

import duckdb
import pyarrow
from lines import BUCKETS, DIMENSIONS, K, serve, text_of


class DuckdbPeer:
    versions = f"DuckDB {duckdb.__version__}"

    def __init__(self, vectors, folder, _kind):
        self.vectors = vectors
        self.connection = duckdb.connect(str(folder / "vectors.duckdb"))

    def load(self):
        # Compressed vectors are scanned more slowly.
        self.connection.execute("SET force_compression = 'uncompressed'")
        self.connection.execute(
            f"CREATE TABLE vectors (id BIGINT, bucket INTEGER, vector FLOAT[{DIMENSIONS}])"
        )
        for start in range(0, len(self.vectors.rows), 20_000):
            part = slice(start, start + 20_000)
            flat = pyarrow.array(self.vectors.rows[part].reshape(-1))
            batch = pyarrow.table({
                "id": self.vectors.ids[part],
                "bucket": self.vectors.buckets[part],
                "vector": pyarrow.FixedSizeListArray.from_arrays(flat, DIMENSIONS),
            })
            self.connection.execute("INSERT INTO vectors SELECT * FROM batch")
            del batch
        self.connection.execute("CHECKPOINT")

    def client(self):
        return self.connection.cursor()

    def query(self, index):
        # A list as a parameter costs 90 ms, its text 1.
        return text_of(self.vectors.queries[index % len(self.vectors.queries)])

    def search(self, client, query, keep, _setting):
        condition = "" if keep == BUCKETS else f"WHERE bucket < {keep}"
        rows = client.execute(
            f"""SELECT id FROM vectors {condition}
                ORDER BY array_negative_inner_product(vector, $1::FLOAT[{DIMENSIONS}])
                LIMIT {K}""",
            [query],
        ).fetchall()
        return [row[0] for row in rows]

    def close(self):
        self.connection.close()


serve(DuckdbPeer)
