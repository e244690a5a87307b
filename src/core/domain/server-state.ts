import { oneLine, shortened } from '../short-text.ts'
import type { VectorIndexState } from './index-definition.ts'

/** The server's state for its operator. `/api/status` shows it to signed-in users. */
export interface ServerState {
  readonly statements: StatementCounts
  readonly restarts: RestartState
  readonly disk: DiskState
  readonly memory: MemoryState & {
    /** The limit for each process that reads files, in bytes. */
    readonly readers: number
  }
  readonly backups: BackupState
}

/** What a health check looks at. */
export interface HealthChecks {
  readonly database: 'ok' | 'not answering'
  readonly disk: 'ok' | 'full'
}

/** How often this server was restarted. */
export interface RestartState {
  /** Restarts since the supervisor started. */
  readonly count: number
  readonly last: LastRestart | null
}

export interface LastRestart {
  readonly at: string
  /** For example `SIGSEGV`, `exit code 134` or `planned`. */
  readonly reason: string
  readonly running: readonly RunningRequest[]
}

/** A request that was running when the server crashed. */
export interface RunningRequest {
  readonly since: string
  readonly request: string
  /** The start of a SELECT without its values, or the first words of any other statement. */
  readonly statement: string | null
}

/** The process's memory, in bytes. */
export interface MemoryState {
  readonly rss: number
  /** As the kernel counts; null if unknown. JavaScript reserves most and never uses it. */
  readonly data: number | null
  /** The value of `data` after startup; null if unlimited. */
  readonly start: number | null
  /** null if none. Beyond it, allocations fail and the statements that need them end. */
  readonly limit: number | null
  /** Statements that ended for lack of memory since startup. */
  readonly interrupted: number
}

export interface StatementCounts {
  /** Executed by DuckDB, including abandoned ones. */
  readonly running: number
  /** Waiting for a concurrency slot. */
  readonly waiting: number
  /** Waiting for their clients to read more rows. */
  readonly parked: number
  readonly abandoned: readonly {
    readonly since: string
    /** The first words, without values. */
    readonly statement: string
  }[]
}

export interface ShownSetting {
  readonly name: string
  /** As written in the environment; null if unset or secret. */
  readonly value: string | null
  /** null without a default. */
  readonly default: string | null
  readonly meaning: string
  /** Whether the value is never shown. */
  readonly isSecret: boolean
  readonly isSet: boolean
}

/** The disk that holds the data folder, in bytes. */
export interface DiskState {
  /** null if unknown, or if nothing is stored on disk. */
  readonly free: number | null
  /** If less than this is free, nothing is stored. */
  readonly reserve: number
  readonly data: number
  readonly log: number
  /** The size of uploaded files as they were sent. */
  readonly files: number
  /** Whether writes are refused; reading and deleting still work. */
  readonly full: boolean
}

/** In bytes, in whole blocks of the database file, without the log. */
export interface StoredSize {
  /** Chunks with their metadata. */
  readonly texts: number
  /** Vectors of all models; there are two while the model is being changed. */
  readonly vectors: number
  readonly keywords: number
}

/** The in-memory copy of the vectors that searches use. */
export interface VectorCopy {
  /** `codes`: a fifth; the best vectors are then read from disk. `none`: all are. */
  readonly kind: 'whole' | 'codes' | 'loading' | 'none'
  readonly count: number
  readonly bytes: number
}

/** The resources that one knowledge base uses. */
export interface KnowledgeBaseUsage {
  readonly project: string
  readonly knowledgeBase: string
  /** The number of dimensions; null if no vector is stored yet. */
  readonly dimensions: number | null
  readonly documentCount: number
  readonly chunkCount: number
  /** null if not requested. */
  readonly disk: StoredSize | null
  readonly vectors: VectorCopy
  /** Bytes of chunk rows cached for search results. */
  readonly rowBytes: number
  readonly index: VectorIndexState
}

/** Only the start of a statement is read. */
const READ_CHARS_MAX = 4_000

const NAME_OR_VALUE =
  /"(?:[^"]|"")*(?:"|$)|'(?:[^']|'')*(?:'|$)|\$(\w*)\$[\s\S]*?(?:\$\1\$|$)|\b\d[\w.]*/g
/** Options, whose values may be secrets, also in double quotes. */
const OPTIONS = /\b(using(?=\s+\w+\s*=)|parameters(?=\s*=?\s*\{)).*$/is

/** The start of a statement without literal values, for the log and the status. */
export function shownStatement(sql: string, charsMax: number): string {
  const text = sql
    .slice(0, READ_CHARS_MAX)
    .replace(NAME_OR_VALUE, (found) => (found.startsWith('"') ? found : '?'))
    .replace(OPTIONS, (_, word: string) => `${word.toUpperCase()} …`)
  return shortened(oneLine(text), charsMax)
}

/** Each comment can end in only one place, so the pattern cannot backtrack. */
export const BEFORE_STATEMENT = String.raw`^(?:[\s(]|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*`
const QUERY = new RegExp(`${BEFORE_STATEMENT}(?:select|with|from|values)\\b`, 'i')

/** Whether the statement is a SELECT in any form, which changes nothing. */
export function isQuery(sql: string): boolean {
  return QUERY.test(sql.slice(0, READ_CHARS_MAX))
}

/** A copy of everything stored, as of one moment. */
export interface Backup {
  readonly name: string
  readonly sizeBytes: number
  /** The moment that the copy shows. */
  readonly createdAt: string
  /** False if the key files were left out: secrets cannot be read after a restore. */
  readonly hasKeys: boolean
  /** How many rows were copied. */
  readonly rowCount: number
}

/** The backups in `/api/status`. */
export interface BackupState {
  /** The newest existing backup. */
  readonly last: Backup | null
  readonly next: string | null
  /** The last attempt, if it failed. */
  readonly failed: { readonly at: string; readonly message: string } | null
}
