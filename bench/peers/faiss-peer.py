"""faiss in process: `flat`, `hnsw` (M 16, efConstruction 64) or `ivf` (4 sqrt(n) lists)."""

import math

import faiss
import numpy
from lines import BUCKETS, DIMENSIONS, K, serve


class FaissPeer:
    versions = f"faiss {faiss.__version__}"

    def __init__(self, vectors, folder, kind):
        self.vectors, self.folder, self.kind = vectors, folder, kind
        self.selectors = {}

    def load(self):
        inner = faiss.METRIC_INNER_PRODUCT
        rows = numpy.ascontiguousarray(self.vectors.rows)
        if self.kind == "flat":
            self.index = faiss.IndexFlatIP(DIMENSIONS)
        elif self.kind == "hnsw":
            self.index = faiss.IndexHNSWFlat(DIMENSIONS, 16, inner)
            self.index.hnsw.efConstruction = 64
        else:
            lists = round(4 * math.sqrt(len(rows)))
            self.coarse = faiss.IndexFlatIP(DIMENSIONS)
            self.index = faiss.IndexIVFFlat(self.coarse, DIMENSIONS, lists, inner)
            self.index.train(rows)
        self.index.add(rows)
        faiss.write_index(self.index, str(self.folder / "index.faiss"))
        for keep in (100, 10, 1):
            mask = numpy.packbits(self.vectors.buckets < keep, bitorder="little")
            self.selectors[keep] = faiss.IDSelectorBitmap(mask)
            self.selectors[keep].kept = mask  # the selector only points at it
        faiss.omp_set_num_threads(1)

    def client(self):
        return None

    def query(self, index):
        return numpy.ascontiguousarray(self.vectors.queries[index % len(self.vectors.queries)])[None]

    def search(self, _client, query, keep, setting):
        options = {} if keep == BUCKETS else {"sel": self.selectors[keep]}
        if self.kind == "flat":
            parameters = faiss.SearchParameters(**options)
        elif self.kind == "hnsw":
            parameters = faiss.SearchParametersHNSW(efSearch=setting, **options)
        else:
            parameters = faiss.SearchParametersIVF(nprobe=setting, **options)
        _, ids = self.index.search(query, K, params=parameters)
        return ids[0][ids[0] >= 0]

    def close(self):
        pass


serve(FaissPeer)
