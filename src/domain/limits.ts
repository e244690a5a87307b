/** Limits that are not settings. Each has a name and a unit; reaching one is an error that names it. */
export const LIMITS = {
  /** One try of an embedding model when a knowledge base is created or altered. */
  embedProbeMs: 3_000,
  /** Chunks that are embedded and stored in one round of an insert. */
  insertBatchChunks: 512,
  /** Texts longer than this in one cell are refused: a chunk id would have to count a million chunks. */
  cellCharsMax: 100_000_000,
  /** Chunks that a reranker may be asked about for one search; a LIMIT above it is not reranked. */
  rerankCandidatesMax: 1000,
} as const
