/**
 * Reads uploaded files into tables and documents. Reading can take long, use much memory or never
 * end, so it runs in separate processes.
 */
import type { Row, TextLayout } from '../document.ts'
import type { DocumentFormat, FileFormat, Recognized } from '../uploaded-file.ts'

export type { Recognized }

export interface ReadingOptions {
  readonly format?: FileFormat
  /** A label from the WHATWG Encoding Standard. */
  readonly encoding?: string
  readonly delimiter?: string
  readonly header?: boolean
  /** Whether all columns are read as text. */
  readonly allText?: boolean
  /** The only sheet to read, by name or by number from 1. */
  readonly sheet?: string
  /**
   * Whether a model reads pages and pictures without text. If missing, it does if one is
   * configured.
   */
  readonly ocr?: OcrWish
}

export const OCR_WISHES = ['yes', 'no', 'ask'] as const
/** `ask`: refuse a file that needs OCR, with an error that states the expected cost. */
export type OcrWish = (typeof OCR_WISHES)[number]

export interface SourceFile {
  readonly path: string
  /** The sender's name for the file; its extension hints at the format. Never used as a path. */
  readonly name: string
  /** The `Content-Type` sent with the file. */
  readonly contentType: string | null
  /** The file's URL, which its relative links are resolved against. */
  readonly url: string | null
  readonly options: ReadingOptions
  /** Whether to write pictures of text to files, for a model to read. */
  readonly takesScans?: boolean
}

export interface ReadFile {
  readonly format: FileFormat
  readonly recognized: Recognized
  /** For the sender, in full sentences with numbers: what could not be read or was changed. */
  readonly warnings: readonly string[]
  /** Empty if the file contains documents. */
  readonly tables: readonly ReadTable[]
  /** The members of a ZIP file, null for other files. They exist only while it is used. */
  readonly archive: ReadArchive | null
  /** Can be iterated only once. */
  readonly documents: AsyncIterable<ReadDocument>
  /** Pictures of text in order, if any. They exist only while the file is used. */
  readonly scans?: readonly ScanImage[]
}

/** A picture of text. The recognized text goes where `scanMark` of its index is in the document. */
export interface ScanImage {
  readonly path: string
  readonly mediaType: ScanMediaType
  /** For example `page 3` or `a picture on slide 2`. */
  readonly place: string
}

export const SCAN_MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const

export type ScanMediaType = (typeof SCAN_MEDIA_TYPES)[number]

/** These code points never occur in texts: Unicode defines them as noncharacters (Unicode 23.7). */
export const SCAN_MARK = /\uFDD0(\d+)\uFDD1(\n\n)?/g

export function scanMark(index: number): string {
  return `\uFDD0${index}\uFDD1`
}

export interface ReadArchive {
  readonly members: readonly ReadMember[]
  /** How many members were skipped: folders and system files. */
  readonly skipped: number
}

export interface ReadMember {
  /** As in the ZIP, with `/` between folders, so untrusted. */
  readonly name: string
  readonly path: string
  readonly sizeBytes: number
  /** Why the member could not be unpacked; null if it was. */
  readonly failure: string | null
}

export interface ReadTable {
  /** The sheet's name; null if the file has only one table. */
  readonly name: string | null
  /** A Parquet file written by Eider's own DuckDB. */
  readonly path: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rowCount: number
  /** The value of the Parquet key `eider`; missing if there is none. */
  readonly note?: string
}

/** One text and what is known about it. A mailbox has one per message, most files just one. */
export interface ReadDocument extends TextLayout {
  /** The document's id within the file; null if there is only one. */
  readonly id: string | null
  /** Empty if the document has no text. */
  readonly content: string
  /** Other metadata, such as author, date or sender, with names in lower case. */
  readonly columns: Row
  /** Absolute URLs that the document links to. They are not part of `content`. */
  readonly links: readonly string[]
  /** Set for a web page. */
  readonly page?: PageFacts
}

/** Instructions in a page that crawlers follow. */
export interface PageFacts {
  /** The canonical URL that the page names on its own host; null if none. */
  readonly canonical: string | null
  /** The target of an immediate redirect. */
  readonly refresh: string | null
  /** Whether crawlers may store the page and follow its links. */
  readonly isKept: boolean
  readonly isFollowed: boolean
  /** Links that the page marks as nofollow; missing if none. */
  readonly notFollowed?: readonly string[]
}

/** A document's bytes and what its reader needs to know. */
export interface RawDocument {
  readonly bytes: Uint8Array
  readonly format: DocumentFormat
  /** The sender's name for the file, with its extension, if any. */
  readonly name?: string
  /** The encoding from `Content-Type: …; charset=…`. */
  readonly charset: string | null
  /**
   * The document's URL, which relative links are resolved against; null if unknown, so that links
   * stay unchanged.
   */
  readonly url: string | null
}

/** A file that is not on disk yet. */
export interface SentFile extends Omit<SourceFile, 'path'> {
  readonly bytes: Uint8Array
}

/** Reads files in separate processes, so that a harmful file causes at most one failed request. */
export interface FileReading {
  /**
   * Reads a file and passes its content to `use`; its tables and documents are deleted afterwards.
   * @throws AppError `file_unreadable`, `storage_full`, `too_busy`, `shutting_down`; errors of
   * `use`; the signal's reason
   */
  readFile<T>(
    source: SourceFile | SentFile,
    use: (file: ReadFile) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>
}

/** Reads documents outside the server with a deadline, because reading may never end. */
export interface DocumentReading extends FileReading {
  /** @throws AppError `file_unreadable`, `too_busy`, `shutting_down` */
  read(document: RawDocument, signal: AbortSignal): Promise<ReadDocument>
  /**
   * The texts that match at least one of the regular expressions.
   * @throws AppError `insert_failed` if an expression is invalid or too slow
   */
  matching(
    texts: readonly string[],
    patterns: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[]>
}
