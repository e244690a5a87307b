/** What each kind of database does for the port `DataSources`: the same, for one engine. */
import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTable,
  SourceTableName,
} from '../core/domain/flow/source-parameters.ts'
import type { SourceSelect } from '../core/domain/ports/engine-ports.ts'
import type { RemoteBegin, RunRemote } from '../core/domain/ports/storage-ports.ts'
import type { ResultColumn, ResultValue } from '../core/domain/query-result.ts'
import { AppError } from '../core/errors.ts'
import type { Guard } from '../core/runtime/address-policy.ts'
import type { StagingFolder } from './staged-csv.ts'

/** The limit of a call: until its signal aborts, also at the deadline. */
export interface SourceWork {
  readonly signal: AbortSignal
  /** Until the deadline, for the server's own clock. */
  remainingMs(): number
}

/** For engines that are servers. */
export interface ServerDeps {
  readonly guard: Guard
  readonly staging: StagingFolder
}

/** One kind of databases. Failures name the source; what the signal says comes first. */
export interface SourceEngine {
  check(source: DataSource, work: SourceWork): Promise<void>
  /** The tables with their columns, in one request. */
  tables(source: DataSource, work: SourceWork): Promise<readonly DescribedSourceTable[]>
  columns(
    source: DataSource,
    table: SourceTableName,
    work: SourceWork,
  ): Promise<readonly SourceColumn[]>
  describe(source: DataSource, sql: string, work: SourceWork): Promise<readonly SourceColumn[]>
  open(source: DataSource, select: SourceSelect, work: SourceWork): Promise<SourceRows>
  /** Writes all rows where DuckDB can read them. */
  copy(source: DataSource, select: SourceSelect, work: SourceWork): Promise<CopiedRows>
  /** As `RemoteDatabases` says; missing: it holds no knowledge bases. */
  transaction?<T>(
    source: DataSource,
    begin: RemoteBegin,
    work: SourceWork,
    use: (run: RunRemote) => Promise<T>,
  ): Promise<T>
  forget(source: Pick<DataSource, 'id'>): Promise<void>
  close(): Promise<void>
}

/** Rows at a cursor. One call at a time. */
export interface SourceRows {
  readonly columns: readonly ResultColumn[]
  /** null: no more are left. */
  next(): Promise<readonly (readonly ResultValue[])[] | null>
  /** Gives the connection back, or ends it where the signal has aborted. Nothing happens the second time. */
  close(): Promise<void>
}

export interface CopiedRows {
  /** The file, or a folder of it alone. */
  readonly path: string
  /** For DuckDB, over the file. */
  readonly select: string
  readonly columns: readonly SourceColumn[]
  readonly sizeBytes: number
}

/** @throws AppError `table_not_found` */
export function requireColumns(
  columns: readonly SourceColumn[],
  source: DataSource,
  table: SourceTableName,
): readonly SourceColumn[] {
  if (columns.length > 0) return columns
  const name = table.schema === null ? table.name : `${table.schema}.${table.name}`
  throw new AppError('table_not_found', `Data source ${source.name} has no table ${name}`)
}

/** Tables with their columns, out of columns with their tables in the order of the tables. */
export function tablesOf(
  rows: readonly { readonly table: SourceTable; readonly column: SourceColumn | undefined }[],
): readonly DescribedSourceTable[] {
  const tables = new Map<string, SourceTable & { readonly columns: SourceColumn[] }>()
  for (const { table, column } of rows) {
    const key = JSON.stringify([table.schema, table.name])
    const found = tables.get(key) ?? { ...table, columns: [] }
    if (column !== undefined) found.columns.push(column)
    tables.set(key, found)
  }
  return [...tables.values()]
}

/** Why a data source failed, for its user: which one, where, and the cause, without a secret. */

const MESSAGE_CHARS_MAX = 1000

export interface SourcePlace {
  readonly source: Pick<DataSource, 'name' | 'engine'>
  /** `db.example:5432`, or a file's name. */
  readonly where: string
  /** What no message may show. */
  readonly secrets: readonly string[]
}

const LOST = 'the server closed the connection'

function untrusted(which: string): string {
  return `TLS: its certificate is ${which}; give the certificates that are trusted, or turn the check off`
}

/** Messages for the codes of the operating system and the libraries. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection is refused; does the server run, and on this port',
  ENOTFOUND: 'the host is not known',
  EAI_AGAIN: 'the host is not known at the moment',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the server does not answer',
  ECONNRESET: LOST,
  EPIPE: LOST,
  PROTOCOL_CONNECTION_LOST: LOST,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted('signed by itself'),
  SELF_SIGNED_CERT_IN_CHAIN: untrusted('of an authority that is not trusted'),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted('of an authority that is not known'),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted('of an authority that is not known'),
  CERT_HAS_EXPIRED: 'TLS: its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: its certificate is for another host',
  HANDSHAKE_NO_SSL_SUPPORT: 'TLS: the server does not offer it',
}

/** Any failure at a source as the caller hears it. */
export function sourceFailure(error: unknown, place: SourcePlace): AppError {
  if (error instanceof AppError) return error
  const { source, where } = place
  const cause = withoutSecrets(causeOf(error), place.secrets)
  const message = `Data source ${source.name} (${source.engine} at ${where}): ${cause}`
  // The library's own error may hold the login: it goes into no log.
  return new AppError('source_failed', message)
}

/** True for a failure of the connection, not of the request. */
export function isConnectionFailure(error: unknown): boolean {
  const { code, message } = codeAndMessage(error)
  return (
    /^(ECONN|EPIPE|PROTOCOL_|57P0|08)/.test(code) ||
    /Connection (terminated|ended)|closed/i.test(message)
  )
}

function causeOf(error: unknown): string {
  const { code, message } = codeAndMessage(error)
  const known = CAUSES[code]
  if (known !== undefined) return known
  if (/does not support SSL/.test(message)) return CAUSES.HANDSHAKE_NO_SSL_SUPPORT ?? message
  if (/unable to verify|self.signed certificate/i.test(message)) {
    return untrusted('of an authority that is not known')
  }
  if (/certificate's altnames/.test(message)) return 'TLS: its certificate is for another host'
  if (/Connection terminated|Connection ended/.test(message)) return LOST
  const [, method] = /authentication using (?:unknown plugin )?(\w+)/.exec(message) ?? []
  if (method !== undefined)
    return `the server asks for the login method ${method}, which is not used here`
  return message === '' ? 'it failed without a reason' : message.slice(0, MESSAGE_CHARS_MAX)
}

function codeAndMessage(error: unknown): { readonly code: string; readonly message: string } {
  if (typeof error !== 'object' || error === null) return { code: '', message: String(error) }
  // Any property of any object may be looked at.
  const { code, message } = error as Readonly<Record<string, unknown>>
  return {
    code: typeof code === 'string' ? code : '',
    message: typeof message === 'string' ? message : '',
  }
}

const SECRET_CHARS_MIN = 3

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= SECRET_CHARS_MIN)
    .reduce((shown, secret) => shown.replaceAll(secret, '******'), text)
}
