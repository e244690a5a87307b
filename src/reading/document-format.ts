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

/** The note of a reader if no model reads pictures. */
export const SET_OCR_MODEL = 'Set an OCR model (EIDER_OCR_MODEL)'

/** The notes of a reader, besides the content. */
export interface ReadingNotes {
  recognize(found: Recognized): void
  /** A whole sentence with numbers, for the sender: what is missing or not as it was sent. */
  warn(sentence: string): void
  /**
   * Takes a picture of text, whose text is to be where its mark is. null: nothing reads pictures, or there are too many.
   * @param bytes called if it is accepted
   */
  scan?(mediaType: ScanMediaType, place: string, bytes: () => Uint8Array): string | null
  /** Whether most of the processor time for this file is spent: the text so far is then enough. */
  isSpent?(): boolean
}

/** A document that is all of its file and has no pages. */
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
