/** Limits of reading that are not settings. Reaching one is an error that names it. */
export const READING_LIMITS = {
  htmlBytesMax: 10 * 1024 * 1024,
  htmlDepthMax: 500,
  linksPerPageMax: 5000,
  pdfPagesMax: 5000,
  /** For a ZIP, and therefore an Office file or a book. */
  zipEntriesMax: 20_000,
  /** The unpacked size of one file's parts, without pictures. */
  inflatedBytesMax: 256 * 1024 * 1024,
  xmlDepthMax: 500,
  /** Parsing takes about a second for each million. */
  markdownCleanedCharsMax: 8_000_000,
  /** Pictures of text per file that a model reads. */
  scansMax: 1000,
  /** For one picture: providers accept no more. */
  scanBytesMax: 5 * 1024 * 1024,
  /** A smaller picture in an Office file is a logo or a line. */
  pictureBytesMin: 8 * 1024,
  /** The longer side of a drawn page. */
  scanSide: 2000,
  rtfDepthMax: 5000,
  /** Nesting of parts. */
  mailDepthMax: 100,
  mailHeaderBytesMax: 1024 * 1024,
  /** A document is read whole. */
  documentBytesMax: 512 * 1024 * 1024,

  /** The largest size of a decompressed file, for every compressed size. */
  unpackedBytesMax: 8 * 1024 ** 3,
  /** In bytes for each byte of it: no table shrinks more. */
  unpackedPerByte: 200,
  /** Below this many bytes the ratio means nothing. */
  unpackedFreely: 32 * 1024 * 1024,

  /** Processor time of reading one file, at least. */
  readMs: 20_000,
  /** For each millisecond of it: a reader that neither computes nor answers is ended eventually. */
  waitMsPerCpuMs: 15,
  /** Processor time in addition, for each megabyte. */
  readMsPerMegabyte: 400,
  /** The output of a file of any size. */
  outputBytes: 1024 * 1024 * 1024,
  /** In addition, for each byte. */
  outputPerByte: 8,
  processesMax: 3,
  readsQueuedMax: 1000,
  /** A process without work ends after this time. */
  idleMs: 30_000,
} as const
