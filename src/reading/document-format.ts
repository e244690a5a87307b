import type {
  RawDocument,
  ReadDocument,
  ScanMediaType,
} from '../core/domain/ports/reading-ports.ts'
import type { Recognized } from '../core/domain/uploaded-file.ts'
import { AppError } from '../core/errors.ts'

/** Reads the documents of one format. It runs in a reader process: what it throws is one error of one request. */
export type DocumentReader = (
  document: RawDocument,
  notes: ReadingNotes,
) => Iterable<ReadDocument> | AsyncIterable<ReadDocument>

/** The note of a reader when no model reads pictures. */
export const SET_OCR_MODEL = 'Set an OCR model (EIDER_OCR_MODEL)'

/** What a reader reports besides the content. */
export interface ReadingNotes {
  recognize(found: Recognized): void
  /** A whole sentence with numbers, for the sender: what is missing or changed. */
  warn(sentence: string): void
  /**
   * Takes a picture of text and returns its mark in the text. null: nothing reads pictures, or there are too many.
   * @param bytes called if it is accepted
   */
  scan?(mediaType: ScanMediaType, place: string, bytes: () => Uint8Array): string | null
  /** Whether most of the processor time for this file is used: then the text so far must do. */
  isSpent?(): boolean
}

/** A document that fills its file and has no pages. */
export function wholeDocument(
  found: Pick<ReadDocument, 'content' | 'title' | 'syntax'> & Partial<ReadDocument>,
): ReadDocument {
  return { id: null, parts: null, columns: {}, links: [], ...found }
}

/** @param sentence for the sender: what the file is or holds, and what would help */
export function unreadable(sentence: string, cause?: unknown): AppError {
  return new AppError('file_unreadable', sentence, cause === undefined ? {} : { cause })
}

export function couldNotRead(why: string, cause?: unknown): AppError {
  return unreadable(`The file could not be read: ${why}`, cause)
}
