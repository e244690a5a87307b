import { AppError, type ErrorCode } from '../errors.ts'

export interface Failure {
  readonly source: string
  /** Rows that were stored from the sources before. */
  readonly before: number
  /** The same plus those of this source: only a large `query` is stored in several pieces. */
  readonly after: number
  readonly signal: AbortSignal
}

/** Failures that are not the fault of the rows: a client may repeat the request as it is. */
const KEPT_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_select',
  'crawl_failed',
  'address_refused',
  'unknown_provider',
  'provider_refused',
  'provider_failed',
  'dimension_mismatch',
  'knowledge_base_not_found',
  'invalid_knowledge_base',
  'timeout',
  'cancelled',
  'too_busy',
  'shutting_down',
  'out_of_memory',
  'storage_full',
  'internal',
])

/** The same failure with the source's name and what is stored in spite of it. Bugs and aborts stay as they are. */
export function failedInsert(error: unknown, failure: Failure): unknown {
  if (!(error instanceof AppError)) return error
  if (failure.signal.aborted && error === failure.signal.reason) return error
  const code = KEPT_CODES.has(error.code) ? error.code : 'insert_failed'
  const stored = storedNote(failure)
  const message =
    code === 'invalid_select'
      ? `${error.message}. ${stored}`
      : `Error during preprocessing and insertion: ${failure.source}: ${error.message}. ${stored}`
  return new AppError(code, message, { cause: error })
}

function storedNote({ source, before, after }: Failure): string {
  if (after === 0) return 'Nothing was stored'
  if (after === before) return `Stored: ${rowCount(before)} of the other sources`
  const own = `Stored: ${rowCount(after - before)} of ${source}`
  return before === 0 ? own : `${own} and ${rowCount(before)} of the other sources`
}

function rowCount(count: number): string {
  return count === 1 ? '1 row' : `${count} rows`
}
