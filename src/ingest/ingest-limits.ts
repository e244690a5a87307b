/** Limits of an insert that are not settings. Reaching one is an error that names it. */
export const INGEST_LIMITS = {
  /** Texts per call of an embedder: enough to fill all the calls that may run at once. */
  insertBatchChunks: 1024,
  /**
   * Rows of unknown number are stored in pieces of about this many chunks, or characters of them; whole documents, one
   * transaction each. Three pieces are processed at once, and a chunk takes about ten times its characters there.
   */
  batchChunks: 2_000,
  batchChars: 2_000_000,
  /** Characters of a `query`'s rows to read before embedding the first: a small one is read whole, or fails before that. */
  queryReadAheadChars: 16_000_000,
  /** The other sources are stored in one transaction each, so all their chunks are in memory at once. */
  sourceChunksMax: 500_000,
  /** Every chunk repeats its document's id and metadata: the total characters for one document. */
  metadataCharsMax: 100_000_000,
  idCharsMax: 4096,
  /** Nesting of objects and lists in one value. */
  nestingMax: 200,
  /** JSON is parsed in one go, which cannot be interrupted. */
  jsonCharsMax: 10_000_000,
  /** Fields of one element of JSON that the metadata of its chunk lists. */
  jsonFactsMax: 100,
  /** A preview reads this much of its source. */
  previewRows: 100,
  previewChars: 1_000_000,
  /** Documents whose stored chunks are looked up at once. */
  lookupDocuments: 1000,
  /** Chunks that get a vector of the next embedding model per round. */
  reembedBatchChunks: 200,
  /** After a failed round; doubled after each further one. */
  reembedPauseMs: 1_000,
  reembedPauseMsMax: 300_000,
  /** Characters of documents that are chunked together. */
  chunkingBatchChars: 262_144,
  /** Characters that are chunked on the main thread: about a millisecond. */
  chunkingAtOnceChars: 16_384,
  /** Longer texts are chunked in a separate thread. */
  longTextChars: 2_000_000,
  /** Chunking one batch: some hundred million characters of one document at most. */
  chunkingMs: 600_000,
  /** How long an insert may hold the event loop. */
  loopSliceMs: 5,

  /** Bytes of a crawled page, after decompression. */
  pageBytesMax: 10 * 1024 * 1024,
  /** One request, from the look-up of its host to its last byte. */
  pageMs: 20_000,
  /** Fetching one file, which may be large. */
  downloadMs: 600_000,
  redirectsMax: 5,
  urlCharsMax: 2048,
  robotsBytesMax: 512 * 1024,
  crawlDelayMsMax: 10_000,
  pagesAtOnce: 8,
  pagesAtOncePerHost: 2,
  /** The number of addresses searched for some of other hosts. */
  frontierLookAhead: 1000,
  /** Addresses that differ only in their parameters. */
  variantsPerPath: 200,
  /** Messages of a linked mailbox. */
  documentsPerPageMax: 1000,
  /** Different pages may share a text shorter than this. */
  tellingChars: 200,
  /** Retries of a page when its server asks for them, and the longest pause it may demand. */
  retriesMax: 2,
  retryMsMax: 10_000,
  sitemapsMax: 20,
  sitemapUrlsMax: 10_000,
  sitemapBytesMax: 2 * 1024 * 1024,
  /** Links from a start address if a crawl names only its pages. */
  depthByPagesMax: 100,
  frontierUrlsMax: 100_000,
  linksPerPageMax: 5000,
  patternCharsMax: 512,
  patternsMax: 100,

  /** Reading one document, or matching one page's links. */
  readMs: 30_000,
  matchMs: 2000,
  readsQueuedMax: 1000,
  htmlBytesMax: 10 * 1024 * 1024,
  htmlDepthMax: 500,
  pdfPagesMax: 5000,
} as const
