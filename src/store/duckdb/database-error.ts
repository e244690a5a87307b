import { AppError, type ErrorCode } from '../../errors.ts'

/**
 * How DuckDB's messages begin or what they contain, the first that fits. DuckDB has no codes of its
 * own.
 */
const CAUSES: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^(Failed to \w+: )?Out of Memory Error/, 'out_of_memory'],
  [
    /no space left|disk (is )?full|max_temp_directory_size|quota exceeded|could not write file|file too large/i,
    'storage_full',
  ],
  [/database has been invalidated/, 'internal'],
  [/^(IO|FATAL) Error: .*(write|sync|truncate)/i, 'storage_full'],
]

const MESSAGES: Partial<Record<ErrorCode, string>> = {
  out_of_memory: 'The statement needs more memory than the SQL engine may use (EIDER_MEMORY_LIMIT)',
  internal: 'The database stopped itself after a failed write: Eider must be restarted',
  storage_full: 'The data could not be written: the disk is full or refuses writes',
}

/**
 * A failure that has nothing to do with what was asked: no memory, no space. Everything else comes
 * back as it was.
 */
export function resourceError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error
  const cause = CAUSES.find(([pattern]) => pattern.test(error.message))
  if (cause === undefined) return error
  const [, code] = cause
  return new AppError(code, MESSAGES[code] ?? code, { cause: error })
}

/** What went wrong in a statement of a caller. */
const STATEMENT_CAUSES: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^Parser Error/, 'sql_syntax'],
  [/^Invalid Input Error: Values were not provided/, 'sql_missing_parameter'],
  [/^Catalog Error: .*does not exist/, 'sql_unknown_name'],
  [/^Binder Error: .*(not found|does not have a column|Could not find key)/, 'sql_unknown_name'],
  [/^Permission Error/, 'sql_forbidden'],
  [/read-only mode/, 'sql_forbidden'],
]

/**
 * The failure of a caller's statement. Only the first line of DuckDB's message is shown: those
 * below it list names of other tables and an excerpt of the statement as it was rewritten.
 */
export function statementError(error: unknown): unknown {
  const resource = resourceError(error)
  if (resource instanceof AppError || !(resource instanceof Error)) return resource
  const [firstLine = ''] = resource.message.split('\n')
  const cause = STATEMENT_CAUSES.find(([pattern]) => pattern.test(resource.message))
  return new AppError(cause?.[1] ?? 'sql_failed', firstLine, { cause: resource })
}
