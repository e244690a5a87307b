import type { DocumentFormat } from '../../domain/uploaded-file.ts'

export interface RawDocument {
  readonly bytes: Uint8Array
  readonly format: DocumentFormat
  /** The encoding that came with the bytes, as in `Content-Type: …; charset=…`. */
  readonly charset: string | null
  /** Where the document comes from: its links are relative to this. null: nowhere, its links stay as they are. */
  readonly url: string | null
}

export interface ReadDocument {
  /** Plain text or Markdown; empty where the document has no text. */
  readonly content: string
  readonly title: string | null
  /** Absolute addresses of the pages that it links to. */
  readonly links: readonly string[]
}

/** Reading what others wrote: it may take long or forever, so it happens in a thread with a deadline. */
export interface DocumentReading {
  /** @throws AppError `file_unreadable`, `too_busy`, `shutting_down` */
  read(document: RawDocument, signal: AbortSignal): Promise<ReadDocument>
  /**
   * The texts in which one of the regular expressions is found.
   * @throws AppError `insert_failed` for an expression that is invalid or takes too long
   */
  matching(
    texts: readonly string[],
    patterns: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[]>
}
