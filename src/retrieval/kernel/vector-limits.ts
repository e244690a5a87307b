/** Limits of vector search in memory. What is beyond them is for the exact scan in the database. */
export const VECTOR_LIMITS = {
  dimensionsMax: 4096,
  /** Neighbours of one search. */
  neighboursMax: 4096,
  /** What 32-bit addresses reach. */
  memoryBytesMax: 4 * 1024 ** 3,
  threadsMax: 64,
  /** Searches that wait for a thread. */
  queueMax: 1024,
  /** Codes that the calling thread scans itself: up to 0.5 ms, which is less than a second look at them costs later. */
  inlineBytesMax: 8 * 1024 ** 2,
  /** A search is shared by idle threads in parts of no fewer codes. */
  partBytesMin: 8 * 1024 ** 2,
  /** Searches that one thread runs side by side. */
  batchMax: 4,
  /** Codes that all searches of a batch read before the next: they stay in a core's cache meanwhile. */
  sliceBytes: 192 * 1024,
  /** Products of two codes before a thread looks whether its task was cancelled: about 1 ms. */
  sliceProducts: 16 * 1024 ** 2,
  /** A search whose thread ended is tried again, so often in all. */
  attemptsMax: 2,
  /** Vectors that are read at once where memory holds the codes only. */
  fetchRows: 1024,
} as const
