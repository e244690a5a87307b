/** PostgreSQL's catalog as one client sees it, for tools that explore the schema. */
import { literal } from '../../core/domain/names.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { isName, tokenize } from '../../sql/lexer/tokens.ts'
import {
  CATALOG_SCRIPT,
  type CatalogPlace,
  catalogPlaces,
  overCatalog,
} from './catalog-statement.ts'
import listedRelations from './listed-relations.sql' with { type: 'text' }

/** A separate in-memory database for statements that never touch stored data. */
export interface ScratchDatabase {
  /** @throws AppError `sql_failed` or `timeout`; the signal's reason on abort */
  read(sql: string, signal: AbortSignal): Promise<ScratchRows>
  /** In one step. Rows are objects by column name. @param script runs after them */
  fill(tables: Readonly<Record<string, readonly object[]>>, script?: string): Promise<void>
  close(): void
}

interface ScratchRows {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly ResultValue[])[]
}

export interface PgType {
  readonly oid: number
  readonly name: string
  /** The size of a value in bytes; -1 if it varies. */
  readonly size: number
  /** The object id of the array type. */
  readonly array: number
}

interface CatalogCaller {
  /** The database name that the client uses. */
  readonly database: string
  /** The project of unqualified names. */
  readonly project: string
  readonly username: string
}

interface CatalogDeps {
  /** @param script SQL that runs once at the start */
  readonly openScratch: (script: string) => Promise<ScratchDatabase>
  readonly types: readonly PgType[]
  /** Settings that clients may request, with their values in a new session. */
  readonly settings: ReadonlyMap<string, string>
  /** Returns the PostgreSQL type for a DuckDB type. */
  readonly typeOf: (duckdb: string) => {
    readonly oid: number
    readonly size: number
    readonly modifier: number
  }
}

export interface RunningStatement {
  readonly pid: number
  readonly username: string
  readonly address: string
  /** An ISO 8601 time. */
  readonly startedAt: string
  /** The statement without values. */
  readonly query: string
}

/** Runs a statement with the caller's rights and returns its rows. */
type CatalogRows = (sql: string) => Promise<readonly (readonly unknown[])[]>

const FIRST_OID = 16_384

/** The columns that the catalog needs of information_schema's tables, by the tables they fill. */
const LISTED: Readonly<Record<string, readonly [table: string, columns: string]>> = {
  listed_schemata: ['schemata', 'schema_name'],
  listed_tables: ['tables', 'table_schema table_name table_type table_rows table_comment'],
  listed_columns: [
    'columns',
    'table_schema table_name column_name data_type is_nullable column_default column_key column_comment',
  ],
  listed_constraints: [
    'table_constraints',
    'table_schema table_name constraint_name constraint_type',
  ],
  listed_checks: ['check_constraints', 'constraint_schema constraint_name check_clause'],
  listed_key_columns: [
    'key_column_usage',
    'table_schema table_name constraint_name column_name ordinal_position',
  ],
}

/** Returns the rows of the tables that `listed-relations.sql` reads, for one client. */
async function listedRows(
  { database, project, username }: CatalogCaller,
  { types, settings, typeOf }: Omit<CatalogDeps, 'openScratch'>,
  rows: CatalogRows,
): Promise<Readonly<Record<string, readonly object[]>>> {
  const listed: Record<string, readonly Readonly<Record<string, unknown>>[]> = {}
  for (const [target, [table, columns]] of Object.entries(LISTED)) {
    const names = columns.split(' ')
    const found = await rows(`SELECT ${names.join(', ')} FROM information_schema.${table}`)
    listed[`pgc.${target}`] = found.map((values) => {
      return Object.fromEntries(names.map((name, index) => [name, values[index]]))
    })
  }
  const columns = listed['pgc.listed_columns'] ?? []
  const columnTypes = new Set(columns.map((column) => String(column.data_type)))
  const shownSettings = new Map([...settings, ['search_path', project]])
  const version = 'PostgreSQL 16.4 (Eider)'
  return {
    ...listed,
    'pgc.listed_column_types': [...columnTypes].map((duckdb) => ({ duckdb, ...typeOf(duckdb) })),
    'pgc.listed_types': types,
    'pgc.session_facts': [{ db: database, project, username, version }],
    'pgc.settings': [...shownSettings].map(([name, setting]) => ({ name, setting })),
  }
}

const NO_SUCH_TABLE = /Table with name .* does not exist/

/** The catalog as one client sees it. Valid until something changes on the server. */
export class PgCatalog {
  readonly #scratch: ScratchDatabase
  readonly #caller: CatalogCaller
  readonly #deps: CatalogDeps

  private constructor(scratch: ScratchDatabase, caller: CatalogCaller, deps: CatalogDeps) {
    this.#scratch = scratch
    this.#caller = caller
    this.#deps = deps
  }

  static async open(
    caller: CatalogCaller,
    deps: CatalogDeps,
    rows: CatalogRows,
  ): Promise<PgCatalog> {
    const catalog = new PgCatalog(await deps.openScratch(CATALOG_SCRIPT), caller, deps)
    return catalog.refilled(rows)
  }

  /** With what the client may see now: creating one is far slower. Closes it on failure. */
  async refilled(rows: CatalogRows): Promise<PgCatalog> {
    try {
      const listed = await listedRows(this.#caller, this.#deps, rows)
      await this.#scratch.fill(listed, listedRelations)
      return this
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Shows these statements in `pg_stat_activity`. */
  async showRunning(running: readonly RunningStatement[]): Promise<void> {
    const { database } = this.#caller
    const rows = running.map(({ pid, username, address, startedAt, query }) => ({
      ...{ datid: FIRST_OID, datname: database, pid, usesysid: 10, usename: username },
      ...{ application_name: '', client_addr: address, state: 'active', query },
      ...{ backend_start: startedAt, xact_start: startedAt, query_start: startedAt },
      ...{ state_change: startedAt, backend_type: 'client backend' },
    }))
    await this.#scratch.fill({ 'pgc.pg_stat_activity': rows })
  }

  /** @returns undefined if the statement also reads data @throws AppError `sql_failed` */
  async read(sql: string, signal: AbortSignal): Promise<ScratchRows | undefined> {
    try {
      return await this.#scratch.read(overCatalog(sql), signal)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'sql_failed') throw error
      if (NO_SUCH_TABLE.test(error.message)) return undefined
      const message = `PostgreSQL's catalog is only partly here: ${error.message}`
      throw new AppError('sql_failed', message, { cause: error })
    }
  }

  /** Inlines catalog rows into the statement, so that the main engine can run it. */
  withRows(sql: string, signal: AbortSignal): Promise<string> {
    return withCatalogRows(sql, (part) => this.#scratch.read(part, signal))
  }

  close(): void {
    this.#scratch.close()
  }
}

const NO_ALIAS = /^(where|on|join|left|right|inner|cross|full|group|order|union|limit|having)$/i

/** Inlines them into a statement that also reads data. @param read over the catalog */
async function withCatalogRows(
  sql: string,
  read: (sql: string) => Promise<ScratchRows>,
): Promise<string> {
  let text = ''
  let at = 0
  for (const place of catalogPlaces(sql)) {
    text += sql.slice(at, place.start) + (await putIn(place, read))
    at = place.end
    if (place.kind === 'relation' && !hasAlias(sql.slice(at))) text += ` AS ${place.name}`
  }
  return text + sql.slice(at)
}

async function putIn(
  { kind, name }: CatalogPlace,
  read: (sql: string) => Promise<ScratchRows>,
): Promise<string> {
  if (kind === 'cast') {
    const { rows } = await read(`SELECT ${name}`)
    return String(rows[0]?.[0] ?? 'NULL')
  }
  const { rows: described } = await read(`DESCRIBE pgc.${name}`)
  const columns = described.map(([column, type]) => {
    return { column: String(column), type: String(type).replace('BLOB', 'VARCHAR') }
  })
  const list = `SELECT coalesce(to_json(list(r))::VARCHAR, '[]') FROM pgc.${name} AS r`
  const { rows } = await read(list)
  const shape = Object.fromEntries(columns.map(({ column, type }) => [column, type]))
  const parts = columns.map(({ column }) => {
    return `struct_extract(catalog_row, ${literal(column)}) AS ${column}`
  })
  const json = literal(String(rows[0]?.[0]))
  const source = `SELECT unnest(from_json(${json}, ${literal(JSON.stringify([shape]))})) AS catalog_row`
  return `(SELECT ${parts.join(', ')} FROM (${source}))`
}

function hasAlias(rest: string): boolean {
  const [first] = tokenize(rest)
  return isName(first) && !NO_ALIAS.test(first.text)
}
