/** Limits of an insert that are not settings. Exceeding one is an error that names it. */
export const INGEST_LIMITS = {
  /** Texts per call of an embedder: enough for all requests that may run at once. */
  insertBatchChunks: 1024,
  /**
   * An unknown number of rows is stored in batches of about this many chunks, or this many
   * characters of them. Each batch consists of whole documents and is one transaction. Three are
   * processed at once, and a chunk takes ten times its characters in memory.
   */
  batchChunks: 2_000,
  batchChars: 2_000_000,
  /** Small queries are read completely before embedding starts. */
  queryReadAheadChars: 16_000_000,
  /** Other sources are stored in one transaction each, with all of their chunks in memory. */
  sourceChunksMax: 500_000,
  /** Counted once for every chunk, because each repeats a document's id and metadata. */
  metadataCharsMax: 100_000_000,
  idCharsMax: 4096,
  /** The deepest nesting of objects and lists in one value. */
  nestingMax: 200,
  /** JSON is parsed in one step that cannot be interrupted. */
  jsonCharsMax: 10_000_000,
  /** The most fields of a JSON element to list in its chunk's metadata. */
  jsonFactsMax: 100,
  previewRows: 100,
  previewChars: 1_000_000,
  /** Look up the stored chunks of this many documents at a time. */
  lookupDocuments: 1000,
  /** Embed this many chunks with the next model per round. */
  reembedBatchChunks: 200,
  /** The pause after a failed round. It doubles after each further failure. */
  reembedPauseMs: 1_000,
  reembedPauseMsMax: 300_000,
  /** Chunk this many characters of documents together. */
  chunkingBatchChars: 262_144,
  /** Chunk up to this many characters on the main thread, in about a millisecond. */
  chunkingAtOnceChars: 16_384,
  /** Longer texts are chunked in a thread of their own. */
  longTextChars: 2_000_000,
  /** For one batch, which may be one document of some hundred million characters. */
  chunkingMs: 600_000,
  /** Store what has waited this long, even if its batch is not full, because a site may be slow. */
  batchMs: 5_000,
  /** How long an insert may block the event loop at a time. */
  loopSliceMs: 5,

  pageBytesMax: 10 * 1024 * 1024,
  pageMs: 20_000,
  /** The time limit for fetching one file, which may be large. */
  downloadMs: 600_000,
  redirectsMax: 5,
  urlCharsMax: 2048,
  robotsBytesMax: 512 * 1024,
  crawlDelayMsMax: 10_000,
  pagesAtOnce: 8,
  pagesAtOncePerHost: 2,
  /** Examine this many addresses to find some on other hosts. */
  frontierLookAhead: 1000,
  variantsPerPath: 200,
  /** The most messages to read from a linked mailbox. */
  documentsPerPageMax: 1000,
  /** Different pages may happen to share a text shorter than this. */
  tellingChars: 200,
  /** How often to try again if a server asks for it, and the longest pause it may ask for. */
  retriesMax: 2,
  retryMsMax: 10_000,
  sitemapsMax: 20,
  sitemapUrlsMax: 10_000,
  sitemapBytesMax: 2 * 1024 * 1024,
  /** The depth of a crawl that sets only a number of pages. */
  depthByPagesMax: 100,
  frontierUrlsMax: 100_000,
  patternCharsMax: 512,
  patternsMax: 100,

  matchMs: 2000,
  readsQueuedMax: 1000,
} as const
