/** PostgreSQL's catalog of what one caller may see, for clients that explore the schema. */
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

/** A separate database in memory, for statements that never touch stored data. */
export interface ScratchDatabase {
  /** @throws AppError `sql_failed`, `timeout`; the signal's reason */
  read(sql: string, signal: AbortSignal): Promise<ScratchRows>
  /** Replaces what these tables hold, at once: lists of objects, by the names of a table's columns. */
  fill(tables: Readonly<Record<string, readonly object[]>>): Promise<void>
  close(): void
}

export interface ScratchRows {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly ResultValue[])[]
}

export interface CatalogType {
  readonly oid: number
  readonly name: string
  readonly size: number
  /** The id of its array type; 0: none. */
  readonly array: number
}

interface CatalogCaller {
  /** As the client calls it. */
  readonly database: string
  /** What plain names belong to. */
  readonly project: string
  readonly username: string
}

interface CatalogDeps {
  /** @param script run before it is used */
  readonly openScratch: (script: string) => Promise<ScratchDatabase>
  readonly types: readonly CatalogType[]
  /** What clients may ask for by name, with the values of a new session. */
  readonly settings: ReadonlyMap<string, string>
  /** PostgreSQL's type of one of DuckDB's. */
  readonly typeOf: (duckdb: string) => {
    readonly oid: number
    readonly size: number
    readonly modifier: number
  }
}

/** Rows of a statement, with the caller's rights. */
export type CatalogRows = (sql: string) => Promise<readonly (readonly unknown[])[]>

const FIRST_OID = 16_384
/** Added to a table's number: that of its primary key. */
const INDEX_OID = 1_000_000_000
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

/** What the catalog's tables hold for one caller. */
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
    'pgc.own_relations': [...relations, ...indexes],
    'pgc.own_attributes': attributes,
    'pgc.types': [...scalars, ...arrays],
  }
}

function commentOf(kind: unknown, comment: unknown): string | null {
  if (typeof comment === 'string' && comment !== '') return comment
  return kind === 'KNOWLEDGE BASE' ? "Knowledge base: search it with content = 'text'" : null
}

const NO_SUCH_TABLE = /Table with name .* does not exist/

/** The catalog as one caller sees it, until the server's own changes. */
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

  /** The same with what the caller may see by now: making it takes many times longer. It is closed where that fails. */
  async refilled(rows: CatalogRows): Promise<PgCatalog> {
    try {
      await this.#scratch.fill(await catalogTables(this.#caller, this.#deps, rows))
      return this
    } catch (error) {
      this.close()
      throw error
    }
  }

  /**
   * @returns undefined: the statement also reads data
   * @throws AppError `sql_failed` with what the catalog here does not have
   */
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

  /** Inlines the catalog's rows into the statement, for the engine that has the data. */
  withRows(sql: string, signal: AbortSignal): Promise<string> {
    return withCatalogRows(sql, (part) => this.#scratch.read(part, signal))
  }

  close(): void {
    this.#scratch.close()
  }
}

const NO_ALIAS = /^(where|on|join|left|right|inner|cross|full|group|order|union|limit|having)$/i

/**
 * A statement that reads both the catalog and data: rows of catalog relations are inlined.
 * @param read a statement over the catalog
 */
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
