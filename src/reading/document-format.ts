import type {
  RawDocument,
  ReadDocument,
  ScanMediaType,
} from '../core/domain/ports/reading-ports.ts'
import type { Recognized } from '../core/domain/uploaded-file.ts'
import { AppError } from '../core/errors.ts'

/** Reads the documents of one format in a reader process. An error fails only the one request. */
export type DocumentReader = (
  document: RawDocument,
  notes: ReadingNotes,
) => Iterable<ReadDocument> | AsyncIterable<ReadDocument>

/** The note to add if no model is set up to read pictures. */
export const SET_OCR_MODEL = 'Set an OCR model (EIDER_OCR_MODEL)'

/** What a reader reports besides the content. */
export interface ReadingNotes {
  recognize(found: Recognized): void
  /** A whole sentence for the client, with numbers, about what is missing or was changed. */
  warn(sentence: string): void
  /** Returns a mark for the text, or null if no model reads it. @param bytes called if accepted */
  scan?(mediaType: ScanMediaType, place: string, bytes: () => Uint8Array): string | null
  /** Whether most of the file's CPU time is used up, so that the rest should be left out. */
  isSpent?(): boolean
}

/** Returns a document that is the whole file and has no pages. */
export function wholeDocument(
  found: Pick<ReadDocument, 'content' | 'title' | 'syntax'> & Partial<ReadDocument>,
): ReadDocument {
  return { id: null, parts: null, columns: {}, links: [], ...found }
}

/** Joins the texts of pages, slides or chapters, and returns where each starts. */
export function joinedParts(texts: readonly string[]) {
  const starts: number[] = []
  let content = ''
  for (const text of texts) {
    if (text !== '' && content !== '') content += '\n\n'
    starts.push(content.length)
    content += text
  }
  return { content, starts }
}

/** @param sentence says what the file is or contains, and what would help */
export function unreadable(sentence: string, cause?: unknown): AppError {
  return new AppError('file_unreadable', sentence, cause === undefined ? {} : { cause })
}

export function couldNotRead(why: string, cause?: unknown): AppError {
  return unreadable(`The file could not be read: ${why}`, cause)
}
