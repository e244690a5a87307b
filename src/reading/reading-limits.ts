/** Limits of reading that are not settings. Exceeding one is an error that names it. */
export const READING_LIMITS = {
  htmlBytesMax: 10 * 1024 * 1024,
  htmlDepthMax: 500,
  linksPerPageMax: 5000,
  pdfPagesMax: 5000,
  /** For a ZIP, including Office files and books. */
  zipEntriesMax: 20_000,
  /** The unpacked size of a file's parts, without pictures. */
  inflatedBytesMax: 256 * 1024 * 1024,
  xmlDepthMax: 500,
  /** Parsing takes about a second per million characters. */
  markdownCleanedCharsMax: 8_000_000,
  /** The most scanned pictures per file that a model reads. */
  scansMax: 1000,
  /** The size of one picture. Providers refuse larger ones. */
  scanBytesMax: 5 * 1024 * 1024,
  /** A smaller picture in an Office file is a logo or a line. */
  pictureBytesMin: 8 * 1024,
  /** The longer side of a rendered page, in pixels. */
  scanSide: 2000,
  rtfDepthMax: 5000,
  /** The nesting of parts. */
  mailDepthMax: 100,
  mailHeaderBytesMax: 1024 * 1024,
  /** The size of a document, which is read as a whole. */
  documentBytesMax: 512 * 1024 * 1024,

  /** The largest size of a decompressed file, regardless of its compressed size. */
  unpackedBytesMax: 8 * 1024 ** 3,
  /** Decompressed bytes per compressed byte. No table compresses better. */
  unpackedPerByte: 200,
  /** Below this many bytes, the ratio does not matter. */
  unpackedFreely: 32 * 1024 * 1024,

  /** The minimum CPU time for reading one file. */
  readMs: 20_000,
  /** Elapsed per CPU millisecond, so that a reader that only waits ends too. */
  waitMsPerCpuMs: 15,
  /** Additional CPU time per megabyte. */
  readMsPerMegabyte: 400,
  /** The output allowed for any file. */
  outputBytes: 1024 * 1024 * 1024,
  /** Additional output per byte. */
  outputPerByte: 8,
  processesMax: 3,
  readsQueuedMax: 1000,
  /** How long a process may be idle before it ends. */
  idleMs: 30_000,
} as const
