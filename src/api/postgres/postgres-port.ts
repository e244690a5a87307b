/** Connects the PostgreSQL port to the server: logins and running statements. */
import { type CatalogSnapshot, findProject } from '../../core/domain/access/catalog-snapshot.ts'
import type { Principal } from '../../core/domain/access/principal.ts'
import { DEFAULT_PROJECT, FILES_DATABASE, literal } from '../../core/domain/names.ts'
import type { QueryResult } from '../../core/domain/query-result.ts'
import { AppError, ERRORS, type ErrorCode, toAppError } from '../../core/errors.ts'
import { setCaller, setStatement } from '../../core/runtime/cancellation.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { isCatalogStatement } from '../../query/postgres/catalog-statement.ts'
import { inDuckDb } from '../../query/postgres/dialect.ts'
import {
  PgCatalog,
  type RunningStatement,
  type ScratchDatabase,
} from '../../query/postgres/pg-catalog.ts'
import type { SessionName } from '../../query/sessions.ts'
import type { Authentication } from '../http/access/authentication.ts'
import { keyTextOf } from '../http/access/rate-limits.ts'
import type { ServerDeps } from '../http/request/route-context.ts'
import type { RunningRequests } from '../http/request/running-requests.ts'
import type { ConnectionParts } from './listen-postgres.ts'
import { columnType, PG_TYPES } from './pg-types.ts'
import type { CopyEncoding, RunOptions, RunResult } from './portals.ts'
import { KNOWN_SETTINGS } from './session-statements.ts'

export interface PostgresParts {
  readonly deps: Pick<ServerDeps, 'query' | 'running' | 'catalogFor' | 'logError'>
  readonly authentication: Authentication
  readonly requests: RunningRequests
  readonly snapshot: () => CatalogSnapshot
  readonly openScratch: (script: string) => Promise<ScratchDatabase>
}

/** How many catalogs are kept, one per caller and database. */
const CATALOGS_MAX = 20
const PLAIN_MAX = 1_000
/** Matches types that may contain numbers that JSON cannot express, even nested. */
const INEXACT = /DECIMAL|DOUBLE|FLOAT|HUGEINT|BIGNUM/

interface KeptCatalog {
  readonly snapshot: CatalogSnapshot
  readonly catalog: Promise<PgCatalog>
}

export class PostgresPort {
  readonly #parts: PostgresParts
  readonly #catalogs = new LruMap<string, KeptCatalog>({ sizeMax: CATALOGS_MAX })
  /** Statements whose rows JSON can express exactly. */
  readonly #plain = new LruMap<string, true>({ sizeMax: PLAIN_MAX })

  constructor(parts: PostgresParts) {
    this.#parts = parts
  }

  partsFor(peer: { readonly address: string; readonly port: number }, id: number): ConnectionParts {
    const { authentication, snapshot } = this.#parts
    return {
      hasLogin: authentication.isOn,
      projectOf: (database) => {
        if (database.toLowerCase() === FILES_DATABASE) return FILES_DATABASE
        return findProject(snapshot(), database)?.name ?? DEFAULT_PROJECT
      },
      logIn: async (username, password, signal) => {
        const headers = new Headers({ authorization: `Bearer ${password}` })
        if (keyTextOf({ headers }) !== undefined) {
          authentication.identifyByKey(password)
          return password
        }
        const { token } = await authentication.login({ username, password }, peer.address, signal)
        return token
      },
      logInByProof: (username, proves, signal) => {
        return authentication.loginByProof(username, proves, peer.address, signal)
      },
      run: (options, signal, use) => this.#run({ options, peer, id }, signal, use),
    }
  }

  async #run<T>(
    { options, peer, id }: Caller,
    signal: AbortSignal,
    use: (result: RunResult) => Promise<T>,
  ): Promise<T> {
    const { requests, authentication, deps } = this.#parts
    const { token } = options
    const headers = token === null ? {} : { authorization: `Bearer ${token}` }
    const request = new Request('http://localhost/postgres', { method: 'POST', headers, signal })
    let outcome: { readonly value: T } | { readonly error: unknown } | null = null
    const connection = { ...peer, onArrived() {} }
    const response = await requests.answer(request, connection, async () => {
      const scope = requests.scopeOf(request)
      scope.route = 'postgres'
      scope.startStreaming()
      try {
        const { principal, login } = await authentication.identify(request)
        scope.principal = principal
        setCaller(scope.signal, login ?? `${peer.address} ${peer.port}`)
        deps.running.refuseSuspect(options.sql)
        scope.running.statement(options.sql)
        setStatement(scope.signal, options.sql)
        const session = { login: login ?? `postgres ${id}`, name: `postgres ${id}` }
        const asked = { ...options, sql: inDuckDb(options.sql), session }
        const result = isCatalogStatement(options.sql)
          ? await this.#catalogRows(asked, principal, scope.signal)
          : await this.#rows(asked, principal, scope.signal)
        outcome = { value: await use(result) }
        return new Response(null)
      } catch (error) {
        outcome = { error }
        const { code } = toAppError(error)
        scope.failure = code
        if (ERRORS[code].status >= 500 && !scope.signal.aborted) {
          deps.logError({ requestId: scope.id, error })
        }
        return new Response(null, { status: ERRORS[code].status })
      }
    })
    requests.scopeOf(request).end()
    return outcomeOf(outcome, response)
  }

  /** Unless the last run showed that JSON can express its rows: those are cached and faster. */
  async #rows(
    { isReadOnly, sql, db, params, session }: SessionOptions,
    principal: Principal,
    signal: AbortSignal,
  ): Promise<RunResult> {
    const isExact = this.#plain.get(sql) === undefined
    const request = { sql, db, params, session, isExact, ...(isReadOnly ? { isLink: true } : {}) }
    const result = shownResult(await this.#parts.deps.query(request, principal, signal), isExact)
    if (isExact && result.columns?.some(({ type }) => INEXACT.test(type)) === false) {
      this.#plain.set(sql, true)
    }
    return result
  }

  async #catalogRows(
    options: SessionOptions,
    principal: Principal,
    signal: AbortSignal,
  ): Promise<RunResult> {
    const { database, db, params } = options
    const sql = options.sql.replaceAll(/:(pg_value_\w+)/g, (whole, name: string) => {
      const value = params[name]
      return typeof value === 'string' ? literal(value) : whole
    })
    const catalog = await this.#catalogOf(principal, { database, project: db }, signal)
    if (/pg_stat_activity/i.test(sql)) await catalog.showRunning(this.#runningFor(principal))
    const found = await catalog.read(sql, signal)
    if (found === undefined) {
      const mixed = { ...options, sql: await catalog.withRows(sql, signal), params: {} }
      return this.#rows(mixed, principal, signal)
    }
    const typed = found.columns.map(({ name, type }) => ({ name, type: catalogType(type) }))
    const shown = DESCRIBES.test(sql)
      ? found.rows.map(([name = null, type, ...rest]) => [name, catalogType(String(type)), ...rest])
      : found.rows
    return { columns: typed, batches: rowBatches(shown), affectedRows: null, warnings: [] }
  }

  #runningFor(principal: Principal): readonly RunningStatement[] {
    return this.#parts.requests.seenBy(principal).flatMap((scope) => {
      const { number: pid, principal: by, address, startMs, statement: query } = scope
      if (query === null) return []
      const startedAt = new Date(startMs).toISOString()
      return [{ pid, username: userNameOf(by), address, startedAt, query }]
    })
  }

  #catalogOf(
    principal: Principal,
    { database, project }: { readonly database: string; readonly project: string },
    signal: AbortSignal,
  ): Promise<PgCatalog> {
    const { deps, openScratch } = this.#parts
    const snapshot = deps.catalogFor(principal).catalog.snapshot()
    const key = JSON.stringify([principal.kind, principal.id, database, project])
    const kept = this.#catalogs.get(key)
    if (kept?.snapshot === snapshot) return kept.catalog
    const rows = async (sql: string) => {
      const request = { sql, db: DEFAULT_PROJECT, params: {} }
      const { batches } = shownResult(await deps.query(request, principal, signal), false)
      return (await Array.fromAsync(batches)).flat()
    }
    const caller = { database, project, username: userNameOf(principal) }
    const settings = KNOWN_SETTINGS
    const catalogDeps = { openScratch, types: PG_TYPES, settings, typeOf: columnType }
    const catalog =
      kept === undefined
        ? PgCatalog.open(caller, catalogDeps, rows)
        : kept.catalog.then((old) => old.refilled(rows))
    this.#keep(key, { snapshot, catalog })
    return catalog
  }

  #keep(key: string, kept: KeptCatalog): void {
    const [oldest] = this.#catalogs.size < CATALOGS_MAX ? [] : this.#catalogs.values()
    // A catalog that failed to open need not be closed.
    if (this.#catalogs.get(key) === undefined) {
      void oldest?.catalog.then((old) => old.close()).catch(() => {})
    }
    this.#catalogs.set(key, kept)
    kept.catalog.catch(() => {
      if (this.#catalogs.get(key) === kept) this.#catalogs.delete(key)
    })
  }
}

function userNameOf({ name }: Principal): string {
  return name === '' ? 'eider' : name
}

const DESCRIBES = /^\s*describe\b/i

/** In the catalog, almost every BIGINT is an object id, a type that drivers look for. */
function catalogType(type: string): string {
  return VECTOR_TYPES[type] ?? type.replace(/^BIGINT/, 'OID')
}

/** Types created by pg-catalog.sql. */
const VECTOR_TYPES: Readonly<Record<string, string>> = {
  'UINTEGER[]': 'oidvector',
  'USMALLINT[]': 'int2vector',
}

type SessionOptions = RunOptions & { readonly session: SessionName }

interface Caller {
  readonly options: RunOptions & { readonly token: string | null }
  readonly peer: { readonly address: string; readonly port: number }
  readonly id: number
}

function shownResult(result: QueryResult, isExact: boolean): RunResult {
  const warnings = (result.kind === 'ok' ? result.warnings : result.rows.warnings) ?? []
  if (result.kind === 'ok') {
    return { columns: null, batches: rowBatches([]), affectedRows: result.affectedRows, warnings }
  }
  const { columns, exactBatches, batches, ready, encoded } = result.rows
  const shown = ready === undefined ? batches : rowBatches(ready)
  const rows = isExact ? (exactBatches ?? shown) : shown
  const names = columns.map(({ name }) => name)
  const copied = encoded && { copied: (encoding: CopyEncoding) => encoded(encoding, names, true) }
  return { columns, batches: rows, ...copied, affectedRows: null, warnings }
}

async function* rowBatches<T>(rows: readonly T[]): AsyncGenerator<readonly T[]> {
  if (rows.length > 0) yield rows
}

/** A request that is refused before it runs is answered with a problem. */
async function outcomeOf<T>(
  outcome: { readonly value: T } | { readonly error: unknown } | null,
  response: Response,
): Promise<T> {
  if (outcome !== null && 'value' in outcome) return outcome.value
  if (outcome !== null) throw outcome.error
  const problem: { code?: ErrorCode; detail?: string } = await response.json()
  throw new AppError(problem.code ?? 'internal', problem.detail ?? 'The statement was refused')
}
