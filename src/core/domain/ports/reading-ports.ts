/**
 * Reading files from users: bytes to tables and documents. It may take long, use much memory or never end, so it runs in
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
  /** Whether a model reads pages and pictures without text; missing: `yes`, where one is set. */
  readonly ocr?: OcrWish
}

export const OCR_WISHES = ['yes', 'no', 'ask'] as const
/** `ask`: a file that needs it is refused, with what it would cost. */
export type OcrWish = (typeof OCR_WISHES)[number]

/** A file to read, on disk. */
export interface SourceFile {
  readonly path: string
  /** The sender's own name for it: its ending says something about the format. Never a path. */
  readonly name: string
  /** `Content-Type` that came with it. */
  readonly contentType: string | null
  /** Where it comes from: its links are relative to this. */
  readonly url: string | null
  readonly options: ReadingOptions
  /** Pictures of text come as files, to be read by a model. */
  readonly takesScans?: boolean
}

/** The content of a file. Its Parquet files exist while it is used. */
export interface ReadFile {
  readonly format: FileFormat
  readonly recognized: Recognized
  /** What could not be read or is not as it was sent, in whole sentences, with numbers: for the sender. */
  readonly warnings: readonly string[]
  /** Empty where the file holds documents. */
  readonly tables: readonly ReadTable[]
  /** For a ZIP of other files; else null. Its files exist while it is used. */
  readonly archive: ReadArchive | null
  /** Can be gone through once. */
  readonly documents: AsyncIterable<ReadDocument>
  /** Pictures of text, in their order; missing: none. They are there while the file is used. */
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
  /** With `/` between folders, as written in the ZIP: it may be anything. */
  readonly name: string
  readonly path: string
  readonly sizeBytes: number
  /** Why it is not there; null: it is. */
  readonly failure: string | null
}

export interface ReadTable {
  /** The name of a sheet; null: the only table of the file. */
  readonly name: string | null
  /** A Parquet file that our own DuckDB wrote. */
  readonly path: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rowCount: number
  /** The value of a Parquet file's key `eider`; missing: none. */
  readonly note?: string
}

/** One text with what is known about it. A mailbox holds one for each message, most other files hold one. */
export interface ReadDocument extends TextLayout {
  /** Within its file; null: the only one. */
  readonly id: string | null
  /** Empty where the document has no text. */
  readonly content: string
  /** What else is known: author, date, sender … Names in lower case. */
  readonly columns: Row
  /** Absolute addresses that it links to. They are not part of `content`. */
  readonly links: readonly string[]
  /** For a web page. */
  readonly page?: PageFacts
}

/** A page's metadata for crawlers. */
export interface PageFacts {
  /** Its own name for its address, on its own host; null: none. */
  readonly canonical: string | null
  /** Where it sends its readers at once. */
  readonly refresh: string | null
  /** Whether it may be kept, and its links followed. */
  readonly isKept: boolean
  readonly isFollowed: boolean
  /** The links that it asks not to follow; missing: none. */
  readonly notFollowed?: readonly string[]
}

/** A document's bytes as its reader gets them. */
export interface RawDocument {
  readonly bytes: Uint8Array
  readonly format: DocumentFormat
  /** The sender's name for the file, with its ending, if any. */
  readonly name?: string
  /** The encoding that came with the bytes, as in `Content-Type: …; charset=…`. */
  readonly charset: string | null
  /** Where the document comes from: its links are relative to this. null: nowhere, its links stay as they are. */
  readonly url: string | null
}

/** A file that is not on disk yet. */
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

/** Reading files from users may take forever, so it runs outside the server, with a deadline. */
export interface DocumentReading extends FileReading {
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
