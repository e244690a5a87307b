/** PostgreSQL's catalog as one client sees it, for tools that explore the schema. */
import { literal } from '../../core/domain/names.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { tokenize } from '../../sql/lexer/tokens.ts'
import {
  CATALOG_SCRIPT,
  type CatalogPlace,
  catalogPlaces,
  overCatalog,
} from './catalog-statement.ts'

/** A separate in-memory database for statements that never touch stored data. */
export interface ScratchDatabase {
  /** @throws AppError `sql_failed` or `timeout`; the signal's reason on abort */
  read(sql: string, signal: AbortSignal): Promise<ScratchRows>
  /** In one step. Rows are objects by column name. */
  fill(tables: Readonly<Record<string, readonly object[]>>): Promise<void>
  close(): void
}

interface ScratchRows {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly ResultValue[])[]
}

interface CatalogType {
  readonly oid: number
  readonly name: string
  readonly size: number
  /** The OID of the array type; 0 if there is none. */
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
  readonly types: readonly CatalogType[]
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
/** A primary key index has its table's OID plus this. */
const INDEX_OID = 1_000_000_000
/** UNIQUE and CHECK constraints. A primary key's is its index's plus 1,000,000,000. */
const FIRST_CONSTRAINT_OID = 2_100_000_000
const SYSTEM_TYPES: readonly CatalogType[] = [
  { oid: 18, name: 'char', size: 1, array: 1002 },
  { oid: 19, name: 'name', size: 64, array: 1003 },
  { oid: 24, name: 'regproc', size: 4, array: 1008 },
  { oid: 22, name: 'int2vector', size: -1, array: 1006 },
  { oid: 30, name: 'oidvector', size: -1, array: 1013 },
  { oid: 705, name: 'unknown', size: -2, array: 0 },
  { oid: 1042, name: 'bpchar', size: -1, array: 1014 },
  { oid: 2205, name: 'regclass', size: 4, array: 2210 },
  { oid: 2206, name: 'regtype', size: 4, array: 2211 },
  { oid: 2249, name: 'record', size: -1, array: 2287 },
  { oid: 2278, name: 'void', size: 4, array: 0 },
]

/** Returns the rows of the catalog's tables for one client. */
async function catalogTables(
  { database, project, username }: CatalogCaller,
  { types, settings, typeOf }: Omit<CatalogDeps, 'openScratch'>,
  rows: CatalogRows,
): Promise<Readonly<Record<string, readonly object[]>>> {
  const schemas = await rows('SELECT schema_name FROM information_schema.schemata')
  const tables = await rows(
    'SELECT table_schema, table_name, table_type, table_rows, table_comment FROM information_schema.tables',
  )
  const columns = await rows(
    'SELECT table_schema, table_name, column_name, data_type, is_nullable, column_default, column_key, column_comment FROM information_schema.columns',
  )
  const names = schemas
    .map(([name]) => String(name))
    .filter((name) => name !== 'information_schema')
  const namespaces = new Map(names.map((name, index) => [name, 2200 + index]))
  const ofTable = Map.groupBy(columns, ([schema, table]) => `${schema}.${table}`)
  const shown = tables.filter(([schema]) => namespaces.has(String(schema)))
  const relations = shown.map(([schema, name, kind, count, comment], index) => ({
    oid: FIRST_OID + index,
    relname: String(name),
    relnamespace: namespaces.get(String(schema)),
    relkind: kind === 'VIEW' ? 'v' : 'r',
    natts: ofTable.get(`${schema}.${name}`)?.length ?? 0,
    rows: typeof count === 'number' ? count : null,
    comment: commentOf(kind, comment),
  }))
  const indexes = relations.flatMap(({ oid, relname, relnamespace }, index) => {
    const [schema, name] = shown[index] ?? []
    const keys = (ofTable.get(`${schema}.${name}`) ?? []).filter((column) => column[6] === 'PRI')
    if (keys.length === 0) return []
    const key = { oid: INDEX_OID + oid, relname: `${relname}_pkey`, relnamespace, relkind: 'i' }
    return [{ ...key, natts: keys.length, rows: null, comment: null }]
  })
  const attributes = shown.flatMap(([schema, name], index) => {
    return (ofTable.get(`${schema}.${name}`) ?? []).map((column, position) => {
      const [, , attname, type, nullable, value, key, comment] = column
      const { oid, size, modifier } = typeOf(String(type))
      return {
        ...{ attrelid: FIRST_OID + index, attname, atttypid: oid, attlen: size },
        ...{ attnum: position + 1, atttypmod: modifier, attnotnull: nullable === 'NO' },
        ...{ is_key: key === 'PRI', default_text: value ?? null },
        comment: comment === '' ? null : comment,
      }
    })
  })
  const constraints = await tableConstraints(rows, (schema, name) => {
    return relations[shown.findIndex((one) => one[0] === schema && one[1] === name)]?.oid
  })
  const keys = constraints.filter(({ kind }) => kind === 'u')
  const keyIndexes = keys.map(({ oid, relid, name, names }) => ({
    ...{ oid: oid - INDEX_OID, relname: name, relkind: 'i', natts: names.length },
    relnamespace: relations.find((one) => one.oid === relid)?.relnamespace,
    ...{ rows: null, comment: null },
  }))
  const arrays = types.map(({ name, array }) => {
    return { oid: array, typname: `_${name}`, typlen: -1, typarray: 0 }
  })
  const scalars = [...types, ...SYSTEM_TYPES].map(({ oid, name, size, array }) => {
    return { oid, typname: name, typlen: size, typarray: array }
  })
  const version = 'PostgreSQL 16.4 (Eider)'
  const system = [
    { oid: 11, nspname: 'pg_catalog' },
    { oid: 12, nspname: 'information_schema' },
  ]
  const shownSettings = new Map([...settings, ['search_path', project]])
  return {
    'pgc.session_facts': [{ db: database, project, username, version }],
    'pgc.namespaces': [...system, ...[...namespaces].map(([nspname, oid]) => ({ oid, nspname }))],
    'pgc.settings': [...shownSettings].map(([name, setting]) => ({ name, setting })),
    'pgc.own_relations': [...relations, ...indexes, ...keyIndexes],
    'pgc.own_constraints': constraints,
    'pgc.own_attributes': attributes,
    'pgc.types': [...scalars, ...arrays],
  }
}

async function tableConstraints(
  rows: CatalogRows,
  oidOf: (schema: unknown, table: unknown) => number | undefined,
) {
  const found = await rows(
    "SELECT table_schema, table_name, constraint_name, constraint_type FROM information_schema.table_constraints WHERE constraint_type <> 'PRIMARY KEY'",
  )
  if (found.length === 0) return []
  const clauses = await rows(
    'SELECT constraint_schema, constraint_name, check_clause FROM information_schema.check_constraints',
  )
  const columns = await rows(
    'SELECT table_schema, table_name, constraint_name, column_name FROM information_schema.key_column_usage ORDER BY ordinal_position',
  )
  return found.flatMap(([schema, table, name, type], index) => {
    const relid = oidOf(schema, table)
    if (relid === undefined) return []
    const own = columns.filter((one) => one[0] === schema && one[1] === table && one[2] === name)
    const clause = clauses.find((one) => one[0] === schema && one[1] === name)?.[2]
    const kind = type === 'CHECK' ? 'c' : 'u'
    const names = own.map(([, , , column]) => String(column))
    const oid = FIRST_CONSTRAINT_OID + index
    return [{ oid, relid, name: String(name), kind, names, clause: clause ?? null }]
  })
}

function commentOf(kind: unknown, comment: unknown): string | null {
  if (typeof comment === 'string' && comment !== '') return comment
  return kind === 'KNOWLEDGE BASE' ? "Knowledge base: search it with content = 'text'" : null
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
      await this.#scratch.fill(await catalogTables(this.#caller, this.#deps, rows))
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
  const isName = first?.kind === 'word' || first?.kind === 'name'
  return isName && !NO_ALIAS.test(first.text)
}
