/** Limits and aims of inverted lists. */
export const LIST_LIMITS = {
  /** Lists of a base of n vectors: this many times the square root of n. */
  listFactor: 2,
  /** Vectors per list of which the centroids are the means. */
  sampleRows: 32,
  /** So often the centroids move; after that hardly any vector changes its list. */
  roundsMax: 6,
  /** The centroids stay where fewer of the sample change their list. */
  movedShareMin: 0.01,
  /** Products of two codes in one task of a thread: about 5 ms. */
  taskProducts: 64 * 1024 ** 2,
  /** Vectors of the base that are searched for to measure the recall. */
  questions: 200,
  /** Numbers of neighbours for which the lists to be read are counted; more are searched exactly. */
  depths: [10, 32, 100],
  /** Of the main thread, in one piece: others wait no longer for it. */
  busyMsMax: 4,
  /** What is aimed at, so that 0.95 holds for other questions than those measured. */
  recallAim: 0.97,
  /** Of all vectors; a row out of order takes some 7 times as long, so that more are hardly faster. */
  scannedShareMax: 1 / 16,
  /** So much of the base may come after the training: then its lists are a half too long. */
  growthMax: 1.5,
  /** Rows that wait for their list, and are read by each search meanwhile, until it is worth a task. */
  pendingMin: 1024,
  /** Of these, this many are given their lists before the next are looked at. */
  pendingMax: 8192,
  /** Of all vectors, so many must be in lists of before, */
  keptShareMin: 0.6,
  /** and so many of a sample in that of the nearest centroid. */
  agreementMin: 0.8,
  /** Lists are kept anew when so many vectors have come since. */
  keptGrowth: 1.125,
} as const
