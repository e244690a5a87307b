/**
 * Reading uploaded files: bytes to tables and documents. It may take long, use much memory or never end, so it runs in
 * separate processes.
 */
import type { Row, TextLayout } from '../document.ts'
import type { DocumentFormat, FileFormat, Recognized } from '../uploaded-file.ts'

export type { Recognized }

/** What the sender knows about a file better than its bytes. */
export interface ReadingOptions {
  readonly format?: FileFormat
  /** A name that the WHATWG Encoding Standard knows. */
  readonly encoding?: string
  /** Between two values of a line. */
  readonly delimiter?: string
  /** Whether the first line holds the names of the columns. */
  readonly header?: boolean
  /** Every column of a table is text. */
  readonly allText?: boolean
  /** The only sheet to read, by its name or its number, from 1. */
  readonly sheet?: string
  /** Whether a model reads pages and pictures without text; missing: `yes` if one is configured. */
  readonly ocr?: OcrWish
}

export const OCR_WISHES = ['yes', 'no', 'ask'] as const
/** `ask`: a file that needs it is refused, with the expected cost. */
export type OcrWish = (typeof OCR_WISHES)[number]

/** A file to read, on disk. */
export interface SourceFile {
  readonly path: string
  /** The sender's own name for it: its ending says something about the format. Never a path. */
  readonly name: string
  /** The `Content-Type` it was sent with. */
  readonly contentType: string | null
  /** Its origin, which its links are relative to. */
  readonly url: string | null
  readonly options: ReadingOptions
  /** Pictures of text are written to files, for a model to read. */
  readonly takesScans?: boolean
}

/** The content of a file. Its Parquet files exist while it is used. */
export interface ReadFile {
  readonly format: FileFormat
  readonly recognized: Recognized
  /** Problems for the sender, in whole sentences with numbers: what could not be read or was changed. */
  readonly warnings: readonly string[]
  /** Empty if the file contains documents. */
  readonly tables: readonly ReadTable[]
  /** For a ZIP of other files; else null. Its files exist while it is used. */
  readonly archive: ReadArchive | null
  /** Can be gone through once. */
  readonly documents: AsyncIterable<ReadDocument>
  /** Pictures of text, in order; missing: none. They exist while the file is used. */
  readonly scans?: readonly ScanImage[]
}

/** A picture of text. Its text belongs where `scanMark` of its index is in the document. */
export interface ScanImage {
  readonly path: string
  readonly mediaType: ScanMediaType
  /** `page 3`, `a picture on slide 2`. */
  readonly place: string
}

export const SCAN_MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const

export type ScanMediaType = (typeof SCAN_MEDIA_TYPES)[number]

/** No text holds these, as they are not characters (Unicode 23.7). */
export const SCAN_MARK = /\uFDD0(\d+)\uFDD1(\n\n)?/g

export function scanMark(index: number): string {
  return `\uFDD0${index}\uFDD1`
}

export interface ReadArchive {
  readonly members: readonly ReadMember[]
  /** Folders, and system files in a ZIP. */
  readonly skipped: number
}

export interface ReadMember {
  /** As in the ZIP, with `/` between folders: untrusted. */
  readonly name: string
  readonly path: string
  readonly sizeBytes: number
  /** Why it is not there; null: it is. */
  readonly failure: string | null
}

export interface ReadTable {
  /** Name of a sheet; null: the file's only table. */
  readonly name: string | null
  /** A Parquet file that our own DuckDB wrote. */
  readonly path: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rowCount: number
  /** Value of a Parquet file's key `eider`; missing: none. */
  readonly note?: string
}

/** One text with the facts known about it. A mailbox holds one per message, most other files one. */
export interface ReadDocument extends TextLayout {
  /** Within its file; null: the only one. */
  readonly id: string | null
  /** Empty if the document has no text. */
  readonly content: string
  /** What else is known: author, date, sender … Names in lower case. */
  readonly columns: Row
  /** Absolute addresses it links to, not part of `content`. */
  readonly links: readonly string[]
  /** For a web page. */
  readonly page?: PageFacts
}

/** A page's metadata for crawlers. */
export interface PageFacts {
  /** The canonical address it names on its own host; null: none. */
  readonly canonical: string | null
  /** Target of an immediate redirect. */
  readonly refresh: string | null
  /** Whether it may be kept, and its links followed. */
  readonly isKept: boolean
  readonly isFollowed: boolean
  /** Links it asks not to follow; missing: none. */
  readonly notFollowed?: readonly string[]
}

/** A document's bytes as its reader gets them. */
export interface RawDocument {
  readonly bytes: Uint8Array
  readonly format: DocumentFormat
  /** The sender's name for the file, with its ending, if any. */
  readonly name?: string
  /** The encoding it was sent with, as in `Content-Type: …; charset=…`. */
  readonly charset: string | null
  /** Its origin, which its links are relative to. null: unknown, links stay as they are. */
  readonly url: string | null
}

/** A file not on disk yet. */
export interface SentFile extends Omit<SourceFile, 'path'> {
  readonly bytes: Uint8Array
}

/** Reads whole files in separate processes: any damage a file does is limited to one error of one request. */
export interface FileReading {
  /**
   * Reads a file and gives what it holds to `use`; tables and documents are gone afterwards.
   * @throws AppError `file_unreadable`, `storage_full`, `too_busy`, `shutting_down`; what `use` throws; the signal's reason
   */
  readFile<T>(
    source: SourceFile | SentFile,
    use: (file: ReadFile) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>
}

/** Reading uploaded files may never end, so it runs outside the server, with a deadline. */
export interface DocumentReading extends FileReading {
  /** @throws AppError `file_unreadable`, `too_busy`, `shutting_down` */
  read(document: RawDocument, signal: AbortSignal): Promise<ReadDocument>
  /**
   * The texts in which one of the regular expressions is found.
   * @throws AppError `insert_failed` for an invalid or slow expression
   */
  matching(
    texts: readonly string[],
    patterns: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[]>
}
