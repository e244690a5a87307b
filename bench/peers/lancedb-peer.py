"""LanceDB in process, on disk: `flat`, or `hnsw` (IVF_HNSW_SQ, m 16, ef_construction 64)."""

import lancedb
import pyarrow
from lines import BUCKETS, DIMENSIONS, K, serve


class LancedbPeer:
    versions = f"LanceDB {lancedb.__version__}"

    def __init__(self, vectors, folder, kind):
        self.vectors, self.folder, self.kind = vectors, folder, kind

    def load(self):
        table = lancedb.connect(self.folder).create_table("vectors", self._batch())
        if self.kind == "hnsw":
            table.create_index(
                "dot", index_type="IVF_HNSW_SQ", num_partitions=1, m=16, ef_construction=64
            )

    def _batch(self):
        flat = pyarrow.array(self.vectors.rows.reshape(-1))
        return pyarrow.table({
            "id": self.vectors.ids,
            "bucket": self.vectors.buckets,
            "vector": pyarrow.FixedSizeListArray.from_arrays(flat, DIMENSIONS),
        })

    def client(self):
        return lancedb.connect(self.folder).open_table("vectors")

    def query(self, index):
        return self.vectors.queries[index % len(self.vectors.queries)]

    def search(self, client, query, keep, setting):
        search = client.search(query).distance_type("dot").select(["id"]).limit(K)
        if self.kind == "hnsw":
            search = search.nprobes(1).ef(setting).refine_factor(5)
        if keep != BUCKETS:
            search = search.where(f"bucket < {keep}", prefilter=True)
        return search.to_arrow()["id"].to_pylist()

    def close(self):
        pass


serve(LancedbPeer)
