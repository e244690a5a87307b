import { DrizzleQueryError } from 'drizzle-orm'
import { AppError, type ErrorCode, StartError, systemCodeOf } from '../../core/errors.ts'
import {
  asWritten,
  lineAndColumn,
  lineWithCaret,
  mayHoldSecrets,
  placeAsWritten,
} from '../../core/text/shown-statement.ts'
import { TOO_COSTLY } from './step-limits.ts'

/** DuckDB's messages for a file that was damaged from outside the program. */
const DAMAGE =
  /not a valid DuckDB database file|Corrupt (database|WAL) file|Could not read enough bytes|Failure while replaying WAL|Failed to load metadata/

const OUT_OF_MEMORY =
  /^(Failed to \w+: )?(Out of Memory Error|\{"exception_type":"Out of Memory")|std::bad_alloc|bad allocation|cannot allocate memory|(?:^|: )Allocation failure$|^Cannot create a data chunk/i

/** Said for all statements after a write or checkpoint that fails halfway. */
const INVALIDATED = /database ("[^"]*" )?has been invalidated/i

/** Messages from Eider's own SQL functions, after the prefix that DuckDB adds. */
const STEP = new RegExp(`^Invalid Input Error: ${TOO_COSTLY}(.*)`)

/** Patterns for DuckDB's messages, because DuckDB has no error codes. The first match decides. */
const CAUSES: readonly (readonly [RegExp, ErrorCode])[] = [
  // Before damage: DuckDB says both if it runs out of memory while it replays the log.
  [OUT_OF_MEMORY, 'out_of_memory'],
  [DAMAGE, 'data_damaged'],
  [
    /no space left|disk (is )?full|max_temp_directory_size|quota exceeded|could not write file|file too large/i,
    'storage_full',
  ],
  [INVALIDATED, 'internal'],
  [/^(IO|FATAL) Error: .*(write|sync|truncate)/i, 'storage_full'],
]

export const MAKE_ROOM = 'Make room on the disk, or DELETE or DROP unneeded data and run VACUUM'

const MESSAGES: Partial<Record<ErrorCode, string>> = {
  out_of_memory:
    'The statement needs more memory than the SQL engine may use (EIDER_MEMORY_LIMIT); use smaller values or fewer rows at once, or raise it',
  internal: 'The database stopped itself after a failed write: Eider must be restarted',
  data_damaged:
    'A part of the data file cannot be read: it was damaged. Restore a backup, or save the rest with "npx eider salvage"',
  storage_full: `The data could not be written: the disk is full or refuses writes. ${MAKE_ROOM}`,
}

function isDamage(error: Error): boolean {
  return DAMAGE.test(error.message) && !OUT_OF_MEMORY.test(error.message)
}

/** Whether DuckDB has shut the database down after an internal failure. */
export function isInvalidated(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : error
  return cause instanceof Error && INVALIDATED.test(cause.message)
}

/** Returns the error for a data folder whose files DuckDB refuses to open. */
function damaged(directory: string, detail: string, cause: unknown): StartError {
  const ways = `restore a backup (npx eider restore), or save what can be read: npx eider salvage ${directory} --to <folder>`
  const message = `The data folder ${directory} is damaged: ${detail}. Nothing was changed. Ways out: ${ways}`
  return new StartError(message, cause)
}

/** Not the request's fault, such as a full disk. Returns other errors unchanged. */
export function resourceError(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error
  // Drizzle's message is the statement, and DuckDB's is its cause.
  const failure = error instanceof DrizzleQueryError && error.cause ? error.cause : error
  const cause = CAUSES.find(([pattern]) => pattern.test(failure.message))
  if (cause === undefined) return error
  const [, code] = cause
  return new AppError(code, MESSAGES[code] ?? code, { cause: failure })
}

/** Patterns for errors in clients' statements. */
const STATEMENT_CAUSES: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^Constraint Error/, 'sql_constraint'],
  [/^Parser Error/, 'sql_syntax'],
  [/^Invalid Input Error: Values were not provided/, 'sql_missing_parameter'],
  [/^Catalog Error: .*does not exist/, 'sql_unknown_name'],
  [/^Binder Error: .*(not found|does not have a column|Could not find key)/, 'sql_unknown_name'],
  [/^Permission Error/, 'sql_forbidden'],
  [/read-only mode/, 'sql_forbidden'],
]

/** Further lines of DuckDB's message may quote the rewritten statement. */
export function statementError(error: unknown): unknown {
  const resource = resourceError(error)
  if (resource instanceof AppError || !(resource instanceof Error)) return resource
  const step = STEP.exec(resource.message)?.[1]
  if (step !== undefined) return new AppError('sql_too_costly', step, { cause: resource })
  const [firstLine = ''] = resource.message.split('\n')
  const cause = STATEMENT_CAUSES.find(([pattern]) => pattern.test(resource.message))
  return new AppError(cause?.[1] ?? 'sql_failed', asWritten(firstLine), { cause: resource })
}

const NOT_A_SELECT = 'line 1, column 1: only SELECT statements are supported here'

/** DuckDB would split a PIVOT without values into two statements. */
const PIVOT_WITHOUT_VALUES = 'PIVOT must name its values here: ON column IN (…)'

/** Caught because DuckDB's message suggests changing a setting, which clients cannot do. */
const TOO_DEEP = /^Max expression depth limit of (\d+) exceeded/

/** From `json_serialize_sql`. `position` counts characters from 0. */
export interface ParseFailure {
  readonly error_type: string
  readonly error_message: string
  readonly position?: string
}

/** `line 2, column 5: syntax error at or near "x"`, then the line with a caret. */
export function syntaxError(sql: string, failure: ParseFailure): AppError {
  if (failure.error_type === 'not implemented') {
    const isPivot = /\bpivot(_wider)?\b/i.test(sql)
    return new AppError('sql_not_supported', isPivot ? PIVOT_WITHOUT_VALUES : NOT_A_SELECT)
  }
  const levels = TOO_DEEP.exec(failure.error_message)?.[1]
  if (levels !== undefined) {
    const message = `A statement has at most ${levels} expressions within one another`
    return new AppError('sql_not_supported', message)
  }
  const position = Number(failure.position)
  if (failure.position === undefined || !Number.isSafeInteger(position)) {
    return new AppError('sql_syntax', failure.error_message)
  }
  return errorAt(sql, position, failure.error_message)
}

/** DuckDB takes a statement as a C string, so it would silently ignore everything after a NUL. */
export function checkCharacters(sql: string): void {
  const at = sql.indexOf('\0')
  if (at === -1) return
  const position = [...sql.slice(0, at)].length
  throw errorAt(
    sql,
    position,
    'a statement must not hold the character NUL; bind it as a parameter',
  )
}

function errorAt(sql: string, position: number, message: string): AppError {
  const { text, at } = placeAsWritten(sql, position)
  const place = lineAndColumn(text, at)
  if (mayHoldSecrets(sql)) {
    // Do not quote the text at this position, because it may be a password.
    const told = message.replace(/( near )".*/s, '$1this place')
    return new AppError('sql_syntax', `${place}: ${told}`)
  }
  return new AppError('sql_syntax', `${place}: ${asWritten(message)}\n${lineWithCaret(text, at)}`)
}

const DENIED = 'permission is denied. Run Eider as its owner, or change its owner with chown'
const REASONS: Readonly<Record<string, string>> = {
  EACCES: DENIED,
  EPERM: DENIED,
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file',
  ENOENT: 'it cannot be created',
}

/** Why a file or folder cannot be used; undefined if the operating system did not say. */
export function reasonOf(error: unknown): string | undefined {
  // DuckDB's errors have no code.
  return REASONS[systemCodeOf(error) ?? (/: Permission denied/.test(String(error)) ? 'EACCES' : '')]
}

/** Returns the error for a data folder that cannot be opened. */
export function unusable(directory: string, error: unknown): StartError {
  const [detail] = error instanceof Error ? error.message.split('\n') : [String(error)]
  const message = `The data folder ${directory} cannot be used: ${reasonOf(error) ?? detail}`
  return refusedByDuckDb(directory, error) ?? new StartError(message, error)
}

/** If DuckDB cannot read the folder's files, now or at all, also if that is the cause's cause. */
export function refusedByDuckDb(directory: string, error: unknown): StartError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof StartError) return undefined
    if (isDamage(cause)) return damaged(directory, cause.message.split('\n')[0] ?? '', error)
    if (OUT_OF_MEMORY.test(cause.message)) {
      const message = `EIDER_MEMORY_LIMIT is too small to open the data folder ${directory}`
      return new StartError(`${message}: raise it, for example to 512MB`, error)
    }
  }
  return undefined
}
