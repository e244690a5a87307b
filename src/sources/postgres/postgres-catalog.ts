/** What PostgreSQL says of its tables, and of a statement before it runs. */
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import {
  type PostgresConnection,
  type PostgresField,
  requireRows,
  type TextRow,
} from './postgres-connection.ts'
import type { Session } from './postgres-session.ts'
import type { PostgresType } from './postgres-types.ts'

const COLUMN = `a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypid, a.atttypmod,
    a.attndims, NOT a.attnotnull`

const IS_COLUMN = `a.attnum > 0 AND NOT a.attisdropped
    AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')`

/**
 * Columns of all tables that the login may read, each with its table. A schema is null for the one that is looked in first.
 * A partition is in no list: its rows are in its table.
 */
export const TABLES_SQL = `SELECT ${COLUMN}, NULLIF(n.nspname, current_schema()), c.relname,
    CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND ${IS_COLUMN}
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
  ORDER BY n.nspname <> coalesce(current_schema(), ''), n.nspname, c.relname, c.oid, a.attnum`

/** $1: the schema, or null: the first in the search path that has such a table. */
export const COLUMNS_SQL = `SELECT ${COLUMN}
  FROM pg_catalog.pg_attribute a
  WHERE ${IS_COLUMN} AND a.attrelid = (
      SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND CASE WHEN $1::text IS NULL
        THEN n.nspname = ANY(pg_catalog.current_schemas(true)) ELSE n.nspname = $1 END
      ORDER BY pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname) LIMIT 1)
  ORDER BY a.attnum`

/** $1, $2: numbers of tables and of their columns. */
const LEVELS_SQL = `SELECT w.position, a.attndims
  FROM unnest($1::pg_catalog.oid[], $2::int2[]) WITH ORDINALITY AS w(relation, number, position)
  JOIN pg_catalog.pg_attribute a ON a.attrelid = w.relation AND a.attnum = w.number`

export interface Described {
  readonly fields: readonly PostgresField[]
  readonly types: readonly PostgresType[]
}

const ARRAY_LEVELS_UNKNOWN = 0

/** The statement is parsed alone, so that it is one, and whole. @throws AppError `sql_not_supported` */
export async function described(select: string, { connection, kept }: Session): Promise<Described> {
  const fields = await connection.describe(select)
  requireRows(fields)
  const levels = await arrayLevels(fields, connection)
  const wanted = fields.map(({ dataTypeID, dataTypeModifier }, index) => ({
    oid: dataTypeID,
    modifier: dataTypeModifier,
    levels: levels.get(index) ?? ARRAY_LEVELS_UNKNOWN,
  }))
  return { fields, types: await kept.typesOf(wanted, connection) }
}

const LAST_FIXED_OID = 16_384
const SCALAR_OIDS: ReadonlySet<number> = new Set([
  16, 17, 20, 21, 23, 25, 26, 114, 700, 701, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1266, 1700,
  2950, 3802,
])

/** As the tables declare them; a result does not say. */
async function arrayLevels(
  fields: readonly PostgresField[],
  connection: PostgresConnection,
): Promise<ReadonlyMap<number, number>> {
  const mayBeArrays = fields.flatMap(({ tableID, columnID, dataTypeID }, index) => {
    const mayBe = !SCALAR_OIDS.has(dataTypeID) || dataTypeID >= LAST_FIXED_OID
    return mayBe && tableID !== 0 ? [{ tableID, columnID, index }] : []
  })
  if (mayBeArrays.length === 0) return new Map()
  const tables = `{${mayBeArrays.map(({ tableID }) => tableID).join(',')}}`
  const columns = `{${mayBeArrays.map(({ columnID }) => columnID).join(',')}}`
  const rows = await connection.rows(LEVELS_SQL, [tables, columns])
  return new Map(
    rows.map(([position, levels]) => {
      return [mayBeArrays[Number(position) - 1]?.index ?? -1, Number(levels)] as const
    }),
  )
}

/** Of rows that begin with a column, as the catalog describes it. */
export async function catalogColumns(
  rows: readonly TextRow[],
  { connection, kept }: Session,
): Promise<readonly SourceColumn[]> {
  const wanted = rows.map(([, , oid, modifier, levels]) => {
    return { oid: Number(oid), modifier: Number(modifier), levels: Number(levels) }
  })
  const types = await kept.typesOf(wanted, connection)
  return rows.map(([name, native, , , , isNullable], index) => ({
    name: name ?? '',
    type: types[index]?.duckdb ?? 'VARCHAR',
    nativeType: native ?? '',
    isNullable: isNullable === 't',
  }))
}
