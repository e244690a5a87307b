import { oneLine, shortened } from '../short-text.ts'
import type { VectorIndexState } from './index-definition.ts'

/** The state of the server for its operator. `/api/status` shows it to logged-in users. */
export interface ServerState {
  readonly statements: StatementCounts
  readonly restarts: RestartState
  readonly disk: DiskState
  readonly memory: MemoryState & {
    /** Limit of each process that reads files, in bytes. */
    readonly readers: number
  }
  readonly backups: BackupState
}

/** The inputs of a health check. */
export interface HealthChecks {
  readonly database: 'ok' | 'not answering'
  readonly disk: 'ok' | 'full'
}

/** How often this server was restarted. */
export interface RestartState {
  /** Since its supervisor was started. */
  readonly count: number
  readonly last: LastRestart | null
}

export interface LastRestart {
  readonly at: string
  /** `SIGSEGV`, `exit code 134` or `planned`. */
  readonly reason: string
  readonly running: readonly RunningRequest[]
}

/** A request that ran when the server crashed. */
export interface RunningRequest {
  readonly since: string
  readonly request: string
  /** The first characters of a SELECT without values, the first words of anything else. */
  readonly statement: string | null
}

/** For the process, in bytes. */
export interface MemoryState {
  /** The current memory. */
  readonly rss: number
  /** Private writable memory as the kernel counts it, most of it reserved by JavaScript and never used; null: unknown. */
  readonly data: number | null
  /** `data` when the server had started; null: unlimited. */
  readonly start: number | null
  /** The limit of `data`: beyond it, allocations fail and their statements end; null: the system has none. */
  readonly limit: number | null
  /** Statements that ended because memory was short, since the start. */
  readonly interrupted: number
}

/** SQL statements of callers, by what they do at the moment. */
export interface StatementCounts {
  /** Computed by DuckDB, including abandoned ones. */
  readonly running: number
  /** For a slot. */
  readonly waiting: number
  /** They have rows to give and wait for their client to read. */
  readonly parked: number
  readonly abandoned: readonly {
    readonly since: string
    /** The first words, without values. */
    readonly statement: string
  }[]
}

/** A setting as people see it. */
export interface ShownSetting {
  readonly name: string
  /** As written in the environment; null: not set, or secret. */
  readonly value: string | null
  /** null: not set. */
  readonly default: string | null
  readonly meaning: string
  /** Its value is never shown. */
  readonly isSecret: boolean
  readonly isSet: boolean
}

/** The disk of the data folder, in bytes. */
export interface DiskState {
  /** null: unknown, or nothing is on disk. */
  readonly free: number | null
  /** Nothing is stored with less than this free. */
  readonly reserve: number
  /** The database file. */
  readonly data: number
  /** Its log. */
  readonly log: number
  /** Uploaded files as they were sent. */
  readonly files: number
  /** Writes are refused; reading and removing continue. */
  readonly full: boolean
}

/** A knowledge base's size on disk, in bytes: whole blocks of the database file, without the log. */
export interface StoredSize {
  /** Chunks with their metadata. */
  readonly texts: number
  /** For all models: two while one is being changed. */
  readonly vectors: number
  /** What finds words. */
  readonly keywords: number
}

/** The copy of the vectors in memory, in which searches find the nearest. */
export interface VectorCopy {
  /** `codes`: a fifth of the bytes, with the vectors read from disk. `none`: searches read all of them from disk. */
  readonly kind: 'whole' | 'codes' | 'loading' | 'none'
  readonly count: number
  readonly bytes: number
}

/** Resources of one knowledge base. */
export interface KnowledgeBaseUsage {
  readonly project: string
  readonly knowledgeBase: string
  /** Length of a vector; null: none stored yet. */
  readonly dimensions: number | null
  readonly documentCount: number
  readonly chunkCount: number
  /** null: not requested. */
  readonly disk: StoredSize | null
  readonly vectors: VectorCopy
  /** Bytes of chunk rows cached for search results. */
  readonly rowBytes: number
  readonly index: VectorIndexState
}

/** The first lines of a statement are enough. */
const READ_CHARS_MAX = 4_000

/** The start of a statement for the log and the status, without literal values. */
export function shownStatement(sql: string, charsMax: number): string {
  const text = sql
    .slice(0, READ_CHARS_MAX)
    .replace(/'(?:[^']|'')*('|$)|\$(\w*)\$[\s\S]*?(\$\2\$|$)/g, '?')
    .replace(/\b\d[\w.]*/g, '?')
  return shortened(oneLine(text), charsMax)
}

/** White space, comments and parentheses before a statement. Each comment has one end, so that nothing is tried twice. */
export const BEFORE_STATEMENT = String.raw`^(?:[\s(]|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*`
const QUERY = new RegExp(`${BEFORE_STATEMENT}(?:select|with|from|values)\\b`, 'i')

/** A SELECT in any of its forms, which changes nothing. */
export function isQuery(sql: string): boolean {
  return QUERY.test(sql.slice(0, READ_CHARS_MAX))
}

/** A copy of everything stored, as of one moment. */
export interface Backup {
  /** The name of its folder, made from the time, so that names sort by age. */
  readonly name: string
  readonly sizeBytes: number
  /** The moment of the copied state. */
  readonly createdAt: string
  /** False where secrets cannot be read after a restore, as the key files were left out. */
  readonly hasKeys: boolean
  /** Copied rows. */
  readonly rowCount: number
}

/** What `/api/status` says about backups. */
export interface BackupState {
  /** The newest one that there is. */
  readonly last: Backup | null
  /** When the schedule makes the next one. */
  readonly next: string | null
  /** The last attempt, if it failed. */
  readonly failed: { readonly at: string; readonly message: string } | null
}
