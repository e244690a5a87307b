/** The interface of each kind of database, on which the `DataSources` port is built. */

import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTable,
  SourceTableName,
} from '../core/domain/flow/source-parameters.ts'
import { shownTableName } from '../core/domain/flow/source-parameters.ts'
import type { SourceSelect, StagedRows } from '../core/domain/ports/engine-ports.ts'
import type { RemoteBegin, RunRemote } from '../core/domain/ports/storage-ports.ts'
import { AppError, CONNECTION_LOST, connectionFailure } from '../core/errors.ts'
import type { Guard } from '../core/runtime/address-policy.ts'
import type { StagingFolder } from './staged-csv.ts'

/** The time limit of a call. The signal also aborts at the deadline. */
export interface SourceWork {
  readonly signal: AbortSignal
  /** The time left until the deadline, for the server's own limit. */
  remainingMs(): number
}

export interface ServerDeps {
  readonly guard: Guard
  readonly staging: StagingFolder
}

/** One kind of database. Errors name the source. If the signal aborted, its reason is thrown. */
export interface SourceEngine {
  check(source: DataSource, work: SourceWork): Promise<void>
  /** Returns the tables with their columns in one request. */
  tables(source: DataSource, work: SourceWork): Promise<readonly DescribedSourceTable[]>
  columns(
    source: DataSource,
    table: SourceTableName,
    work: SourceWork,
  ): Promise<readonly SourceColumn[]>
  describe(source: DataSource, sql: string, work: SourceWork): Promise<readonly SourceColumn[]>
  /** Writes all rows to a place where DuckDB can read them. */
  copy(source: DataSource, select: SourceSelect, work: SourceWork): Promise<CopiedRows>
  /** See `RemoteDatabases`. Missing if knowledge bases cannot be stored there. */
  transaction?<T>(
    source: DataSource,
    begin: RemoteBegin,
    work: SourceWork,
    use: (run: RunRemote) => Promise<T>,
  ): Promise<T>
  /** There if `transaction` is. */
  select?(
    source: DataSource,
    begin: Omit<RemoteBegin, 'mode'>,
    work: SourceWork,
    select: SourceSelect,
  ): ReturnType<RunRemote>
  forget(source: Pick<DataSource, 'id'>): Promise<void>
  close(): Promise<void>
}

export interface CopiedRows extends Omit<StagedRows, 'release'> {
  /** The file, or a folder that contains nothing else. */
  readonly path: string
}

/** @throws AppError `table_not_found` */
export function requireColumns(
  columns: readonly SourceColumn[],
  source: DataSource,
  table: SourceTableName,
): readonly SourceColumn[] {
  if (columns.length > 0) return columns
  const name = shownTableName(table)
  throw new AppError('table_not_found', `Data source ${source.name} has no table ${name}`)
}

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

/** Tells users why a data source failed: which source, where, and the cause, without secrets. */

const MESSAGE_CHARS_MAX = 1000

export interface SourcePlace {
  readonly source: Pick<DataSource, 'name' | 'engine'>
  /** `db.example:5432`, several of these, or the name of a file. */
  readonly where: string
  /** Texts that no message may contain. */
  readonly secrets: readonly string[]
}

const NOT_A_DATABASE = 'what listens there does not answer like this database; check the port'

function untrusted(which: string): string {
  return `TLS: its certificate is ${which}; give the certificates that are trusted, or turn the check off`
}

/** Messages for error codes of the libraries. */
const CAUSES: Readonly<Record<string, string>> = {
  PROTOCOL_CONNECTION_LOST: CONNECTION_LOST,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted('signed by itself'),
  SELF_SIGNED_CERT_IN_CHAIN: untrusted('of an authority that is not trusted'),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted('of an authority that is not known'),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted('of an authority that is not known'),
  CERT_HAS_EXPIRED: 'TLS: its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: its certificate is for another host',
  HANDSHAKE_NO_SSL_SUPPORT: 'TLS: the server does not offer it',
}

export function sourceFailure(error: unknown, place: SourcePlace): AppError {
  if (error instanceof AppError) return error
  const { source, where } = place
  const cause = withoutSecrets(causeOf(error), place.secrets)
  const message = `Data source ${source.name} (${source.engine} at ${where}): ${cause}`
  // The library's own error is not logged, because it may contain the password.
  return new AppError('source_failed', message)
}

export function isConnectionFailure(error: unknown): boolean {
  const { code, message } = codeAndMessage(error)
  return (
    /^(ECONN|EPIPE|ETIMEDOUT|PROTOCOL_|57P0|08)/.test(code) ||
    /Connection (terminated|ended)|closed/i.test(message)
  )
}

export function causeOf(error: unknown): string {
  const { code, message } = codeAndMessage(error)
  const known = connectionFailure(error) ?? CAUSES[code]
  if (known !== undefined) return known
  if (/error establishing an SSL connection/.test(message)) return NOT_A_DATABASE
  if (/does not support SSL/.test(message)) return CAUSES.HANDSHAKE_NO_SSL_SUPPORT ?? message
  if (/unable to verify|self.signed certificate/i.test(message)) {
    return untrusted('of an authority that is not known')
  }
  if (/certificate's altnames/.test(message)) return 'TLS: its certificate is for another host'
  if (/Connection terminated|Connection ended/.test(message)) return CONNECTION_LOST
  const [, method] = /authentication using (?:unknown plugin )?(\w+)/.exec(message) ?? []
  if (method !== undefined)
    return `the server asks for the login method ${method}, which is not supported`
  return message === '' ? 'it failed without a reason' : message.slice(0, MESSAGE_CHARS_MAX)
}

function codeAndMessage(error: unknown): { readonly code: string; readonly message: string } {
  if (typeof error !== 'object' || error === null) return { code: '', message: String(error) }
  // The cast is safe, because any object can have these properties.
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
