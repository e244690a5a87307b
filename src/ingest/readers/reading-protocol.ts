import type { ErrorCode } from '../../errors.ts'
import type { RawDocument, ReadDocument } from './document-reading.ts'

/** What the main thread asks of the reading thread, one thing at a time. */
export type ReadingJob =
  | { readonly kind: 'read'; readonly document: RawDocument }
  | {
      readonly kind: 'match'
      readonly texts: readonly string[]
      readonly patterns: readonly string[]
    }

export type ReadingAnswer =
  | { readonly kind: 'read'; readonly document: ReadDocument }
  | { readonly kind: 'matching'; readonly texts: readonly string[] }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
