import { LruMap } from '../../core/runtime/lru-map.ts'
import { type StagedColumn, stagedColumn } from '../staged-csv.ts'
import type { PostgresConnection } from './postgres-connection.ts'

export interface PostgresType {
  /** Its name in DuckDB. */
  readonly duckdb: string
  /** The type of a list's items; for other types, the type itself. */
  readonly item: string
  /** How deeply lists are nested; 0 if it is not a list. */
  readonly levels: number
  readonly native: string
  /** The PostgreSQL type to cast a value to before reading it. */
  readonly cast?: string
}

/** Types by OID. These OIDs are the same in every PostgreSQL. */
const BY_OID: Readonly<Record<number, string>> = {
  16: 'BOOLEAN',
  17: 'BLOB',
  20: 'BIGINT',
  21: 'SMALLINT',
  23: 'INTEGER',
  26: 'UINTEGER',
  114: 'JSON',
  700: 'FLOAT',
  701: 'DOUBLE',
  1082: 'DATE',
  1083: 'TIME',
  1114: 'TIMESTAMP',
  1184: 'TIMESTAMP WITH TIME ZONE',
  1186: 'INTERVAL',
  1266: 'TIME WITH TIME ZONE',
  2950: 'UUID',
  3802: 'JSON',
}
const NUMERIC_OID = 1700
const PADDED_TEXT = 1042
const KNOWN_TYPES_MAX = 10_000
const DOMAIN_LEVELS_MAX = 20

export class PostgresTypes {
  readonly #known = new LruMap<
    number,
    {
      readonly name: string
      /** The base type of a domain, otherwise 0. */
      readonly base: number
      readonly baseModifier: number
      /** The element type of an array, otherwise 0. */
      readonly element: number
    }
  >({ sizeMax: KNOWN_TYPES_MAX })
  readonly #numericAs: string

  /**
   * @param numericAs the type for a numeric without precision: `text`, `decimal(p,s)`, or a DOUBLE
   */
  constructor(numericAs: string) {
    this.#numericAs = numericAs
  }

  /** @param levels the nesting of arrays, if the table declares it */
  async typesOf(
    fields: readonly { readonly oid: number; readonly modifier: number; readonly levels: number }[],
    connection: PostgresConnection,
  ): Promise<readonly PostgresType[]> {
    await this.#learn(
      fields.map(({ oid }) => oid),
      connection,
    )
    return fields.map(({ oid, modifier, levels }) => this.#typeOf(oid, modifier, levels))
  }

  #typeOf(oid: number, modifier: number, levels: number): PostgresType {
    const row = this.#known.get(oid)
    if (row !== undefined && row.base !== 0) {
      const type = this.#typeOf(row.base, modifier === -1 ? row.baseModifier : modifier, levels)
      return { ...type, native: row.name }
    }
    if (row !== undefined && row.element !== 0) {
      const item = this.#typeOf(row.element, modifier, 0)
      const depth = Math.max(1, levels)
      // Arrays of domains over arrays are not read as lists.
      if (item.levels > 0) return plain('VARCHAR', row.name)
      const duckdb = `${item.duckdb}${'[]'.repeat(depth)}`
      const native = `${item.native}${'[]'.repeat(depth)}`
      const cast = item.cast === undefined ? {} : { cast: `${item.cast}[]` }
      return { duckdb, item: item.duckdb, levels: depth, native, ...cast }
    }
    if (oid === NUMERIC_OID) {
      return modifier < MODIFIER_OFFSET ? this.#unconstrained() : numericType(modifier)
    }
    return plain(BY_OID[oid] ?? 'VARCHAR', row?.name ?? String(oid))
  }

  #unconstrained(): PostgresType {
    if (this.#numericAs === 'text') return plain('VARCHAR', 'numeric')
    const digits = /^decimal(\(.*\))$/.exec(this.#numericAs)?.[1]
    if (digits === undefined) return plain('DOUBLE', 'numeric')
    return { ...plain(`DECIMAL${digits}`, 'numeric'), cast: `numeric${digits}` }
  }

  async #learn(oids: readonly number[], connection: PostgresConnection): Promise<void> {
    let unknown = [...new Set(oids)].filter((oid) => this.#known.get(oid) === undefined)
    for (let level = 0; unknown.length > 0 && level < DOMAIN_LEVELS_MAX; level += 1) {
      const rows = await connection.rows(TYPES_SQL, [`{${unknown.join(',')}}`])
      const found = rows.map((row) => {
        const [oid = 0, base = 0, baseModifier = -1, element = 0] = row.slice(1).map(Number)
        this.#known.set(oid, { name: row[0] ?? '', base, baseModifier, element })
        return [base, element]
      })
      unknown = found.flat().filter((oid) => oid !== 0 && this.#known.get(oid) === undefined)
    }
  }
}

/** int2vector and oidvector are not written like arrays, and boxes are separated by semicolons. */
const TYPES_SQL = `SELECT t.typname, t.oid, CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE 0 END, t.typtypmod,
    CASE WHEN t.typcategory = 'A' AND t.typlen = -1 AND t.typname NOT IN ('int2vector', 'oidvector')
      AND e.typdelim = ',' THEN t.typelem ELSE 0 END
  FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
  WHERE t.oid = ANY($1::pg_catalog.oid[])`

function plain(duckdb: string, native: string): PostgresType {
  return { duckdb, item: duckdb, levels: 0, native }
}

const DIGITS_MAX = 38
/** PostgreSQL adds this to the type modifier. */
const MODIFIER_OFFSET = 4

/** A number with more digits than DuckDB supports is read as text: a DOUBLE would lose digits. */
function numericType(modifier: number): PostgresType {
  const bits = modifier - MODIFIER_OFFSET
  const digits = (bits >> 16) & 0xffff
  // Eleven bits with a sign, since PostgreSQL 15.
  const scale = ((bits & 0x7ff) ^ 1024) - 1024
  const native = `numeric(${digits},${scale})`
  const duckdbScale = Math.max(0, scale)
  const duckdbDigits = Math.max(digits - Math.min(0, scale), duckdbScale)
  if (duckdbDigits > DIGITS_MAX) return plain('VARCHAR', native)
  return plain(`DECIMAL(${duckdbDigits},${duckdbScale})`, native)
}

const EPOCH_FORMS: Readonly<Record<string, string>> = {
  DATE: `'0001-01-01'::pg_catalog.date`,
  TIMESTAMP: `'0001-01-01'::pg_catalog.timestamp`,
  'TIMESTAMP WITH TIME ZONE': `'0001-01-01+00'::pg_catalog.timestamptz`,
}
const BC_PATTERN = `'(\\d+-\\d\\d-\\d\\d)( [^" ]*)? BC', '\\1 (BC)\\2', 'g'`

/** An expression for the column in the file. Values that DuckDB would misread are converted. */
export function fileExpression(type: PostgresType, oid: number, name: string): string {
  const { duckdb, item, levels } = type
  const column = castExpression(type, name)
  if (levels > 0) return arrayExpression(item, column)
  if (duckdb === 'BLOB') return `pg_catalog.encode(${column}, 'hex')`
  if (duckdb === 'INTERVAL') return `pg_catalog.replace(${column}::text, '+', '')`
  if (duckdb.startsWith('DECIMAL')) return `NULLIF(${column}, 'NaN')`
  const epoch = EPOCH_FORMS[duckdb]
  if (epoch !== undefined) {
    const old = `pg_catalog.regexp_replace(${column}::text, ${BC_PATTERN})`
    return `CASE WHEN ${column} >= ${epoch} THEN ${column}::text ELSE ${old} END`
  }
  return oid === PADDED_TEXT ? `${column}::text` : column
}

function castExpression({ cast }: PostgresType, column: string): string {
  return cast === undefined ? column : `(${column})::pg_catalog.${cast}`
}

function arrayExpression(item: string, column: string): string {
  const json = `pg_catalog.to_json(${column}::text[])::text`
  if (item === 'INTERVAL') return `pg_catalog.replace(${json}, '+', '')`
  if (item.startsWith('DECIMAL')) return `pg_catalog.replace(${json}, '"NaN"', 'null')`
  return item in EPOCH_FORMS ? `pg_catalog.regexp_replace(${json}, ${BC_PATTERN})` : json
}

export function columnInFile(name: string, { duckdb, item, levels }: PostgresType): StagedColumn {
  if (levels === 0) return stagedColumn(name, duckdb)
  return { name, fileType: 'JSON', value: (column) => listExpression(column, item, levels) }
}

function listExpression(column: string, item: string, levels: number): string {
  const texts = `CAST(${column} AS VARCHAR${'[]'.repeat(levels)})`
  if (item !== 'BLOB') return `CAST(${texts} AS ${item}${'[]'.repeat(levels)})`
  const nested = (list: string, level: number): string => {
    const one = `v${level}`
    const value = level === levels ? `unhex(substr(${one}, 3))` : nested(one, level + 1)
    return `list_transform(${list}, lambda ${one}: ${value})`
  }
  return nested(texts, 1)
}
