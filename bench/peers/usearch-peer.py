"""usearch HNSW in process: float32, connectivity 16, expansion_add 64. Its Python face has no filter."""

import numpy
import usearch
from lines import DIMENSIONS, K, serve
from usearch.index import Index


class UsearchPeer:
    versions = f"usearch {usearch.__version__}"

    def __init__(self, vectors, folder, _kind):
        self.vectors, self.folder = vectors, folder

    def load(self):
        self.index = Index(
            ndim=DIMENSIONS, metric="ip", dtype="f32", connectivity=16, expansion_add=64
        )
        self.index.add(self.vectors.ids, numpy.ascontiguousarray(self.vectors.rows))
        self.index.save(str(self.folder / "index.usearch"))

    def client(self):
        return None

    def query(self, index):
        return numpy.ascontiguousarray(self.vectors.queries[index % len(self.vectors.queries)])

    def search(self, _client, query, _keep, setting):
        self.index.expansion_search = setting
        return self.index.search(query, K).keys

    def close(self):
        pass


serve(UsearchPeer)
