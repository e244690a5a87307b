import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { literal, quote } from '../../core/domain/names.ts'
import type { ReadTable } from '../../core/domain/ports/reading-ports.ts'
import { AppError } from '../../core/errors.ts'
import { jsonMistake } from '../../core/json.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { counted } from '../../core/short-text.ts'
import { couldNotRead, type ReadingNotes } from '../document-format.ts'
import { shown } from './column-types.ts'
import { TABLE_COLUMNS_MAX } from './csv-rows.ts'
import { checkJsonShape } from './table-shape.ts'
import { writtenTable } from './written-table.ts'

interface Column {
  readonly name: string
  readonly type: string
}

/** Also a single object, or one around a list. @throws AppError `file_unreadable` */
export async function readJson(
  connection: DuckDBConnection,
  { path, format }: { readonly path: string; readonly format: 'json' | 'jsonl' },
  folder: string,
  notes: ReadingNotes,
): Promise<ReadTable> {
  const { hasLongIntegers, hasLongFractions } = await checkJsonShape(path)
  const target = join(folder, 'table-0.parquet')
  try {
    let rows = rowsSql(path, format, null)
    let columns = await describedColumns(connection, rows)
    let list = format === 'json' ? await onlyList(connection, rows, columns) : null
    const [table] = list === null ? columns : [list]
    if (table?.type.startsWith('MAP(') === true && (list !== null || columns.length === 1)) {
      rows = rowsSql(path, format, null, FIELDS_ARE_COLUMNS)
      columns = await describedColumns(connection, rows)
      // Objects of too many fields are still maps, which are not rows.
      const isList = ({ name, type }: Column) => name === list?.name && type.startsWith('STRUCT(')
      list = columns.find(isList) ?? null
    }
    const rowsOf = (types: readonly Column[] | null) =>
      types === null ? rows : rowsSql(path, format, types)
    let source: JsonRows = { columns, rows: rowsOf }
    if (list !== null) {
      const { name } = list
      const beside = columns.filter((column) => column.name !== name).map((one) => shown(one.name))
      notes.warn(
        `The table is the list ${shown(name)}${beside.length === 0 ? '' : `; values next to the list are left out: ${beside.join(', ')}`}`,
      )
      const listed = (fields: readonly Column[] | null) => {
        const struct = fields?.map((one) => `${quote(one.name)} ${one.type}`).join(', ')
        const from = rowsOf(struct === undefined ? null : [{ name, type: `STRUCT(${struct})[]` }])
        return `(SELECT unnest(row) FROM (SELECT unnest(${quote(name)}) AS row FROM ${from}))`
      }
      source = { columns: await describedColumns(connection, listed(null)), rows: listed }
    }
    if (hasLongFractions) {
      notes.warn('Numbers of more than 15 digits before a fraction may be rounded')
    }
    const exact = hasLongIntegers ? await exactSql(connection, source, notes) : source.rows(null)
    return await writtenTable(connection, withPlainText(source.columns, exact), target)
  } catch (error) {
    if (error instanceof AppError) throw error
    const key = /(?:Duplicate name|duplicate key) (".*?")/.exec(String(error))?.[1]
    const repeated = `an object has two keys ${key}; upper and lower case are the same`
    const mistake = (await mistakeIn(path)) ?? (key === undefined ? null : repeated)
    if (mistake === null) throw error
    throw couldNotRead(mistake, error)
  }
}

/** DuckDB reads an object with many fields of one type, or with rare ones, as a map. */
const FIELDS_ARE_COLUMNS = `, map_inference_threshold = ${TABLE_COLUMNS_MAX + 1}, field_appearance_threshold = 0`

function rowsSql(
  path: string,
  format: 'json' | 'jsonl',
  columns: readonly Column[] | null,
  detection = '',
): string {
  const size = Bun.file(path).size
  const named = columns?.map(({ name, type }) => `${literal(name)}: ${literal(type)}`)
  const types = named === undefined ? 'sample_size = -1' : `columns = {${named.join(', ')}}`
  const layout = format === 'json' ? 'auto' : 'newline_delimited'
  // A single object may be as large as the file. The whole file is sampled, so that late rows do
  // not fail.
  return `read_json(${literal(path)}, format = '${layout}', maximum_object_size = ${Math.max(size, 1024) + 1024}, ${types}${detection})`
}

/** The type JSON outside the quoted and plain names of fields. */
const JSON_TYPE = /"(?:[^"]|"")*"|\bJSON\b(?! )/g

/** DuckDB reads values of several kinds as JSON; their strings become text without quotation marks. */
function withPlainText(columns: readonly Column[], rows: string): string {
  const plain = columns.flatMap(({ name, type }) => {
    const value = quote(name)
    if (type === 'JSON') {
      return [
        `CASE json_type(${value}) WHEN 'VARCHAR' THEN ${value}->>'$' ELSE CAST(${value} AS VARCHAR) END AS ${value}`,
      ]
    }
    const text = type.replace(JSON_TYPE, (found) => (found === 'JSON' ? 'VARCHAR' : found))
    return text === type ? [] : [`CAST(to_json(${value}) AS ${text}) AS ${value}`]
  })
  return plain.length === 0 ? rows : `(SELECT * REPLACE (${plain.join(', ')}) FROM ${rows})`
}

interface JsonRows {
  readonly columns: readonly Column[]
  /** Returns the FROM clause for columns of these types; null: the types that DuckDB detects. */
  rows(types: readonly Column[] | null): string
}

async function describedColumns(
  connection: DuckDBConnection,
  rows: string,
): Promise<readonly Column[]> {
  const result = await allRows(connection, `DESCRIBE SELECT * FROM ${rows}`)
  return result.map(([name, type]) => ({ name: String(name), type: String(type) }))
}

/** Returns the only list of objects in the file's only object. */
async function onlyList(
  connection: DuckDBConnection,
  rows: string,
  columns: readonly Column[],
): Promise<Column | null> {
  const lists = columns.filter(({ type }) => /^(STRUCT|MAP)\(.*\)\[\]$/s.test(type))
  const [list] = lists
  if (lists.length !== 1 || list === undefined) return null
  const counted = await allRows(connection, `SELECT count(*) FROM (FROM ${rows} LIMIT 2)`)
  return Number(counted[0]?.[0]) === 1 ? list : null
}

const LONG = '-?[0-9]{16,}([.].*)?'
const LONGEST_DIGITS = 38

/** Integers that DuckDB would turn into a DOUBLE stay exact: they are read as text and examined. */
async function exactSql(
  connection: DuckDBConnection,
  { columns, rows: rowsOf }: JsonRows,
  { warn }: ReadingNotes,
): Promise<string> {
  const isOpen = ({ type }: Column) => type === 'DOUBLE' || type === 'HUGEINT' || type === 'UBIGINT'
  const open = columns.filter(isOpen)
  if (columns.some(({ type }) => type.includes('DOUBLE') && type !== 'DOUBLE')) {
    warn('Numbers of more than 15 digits within objects and lists are DOUBLE: they may be rounded')
  }
  if (open.length === 0) return rowsOf(null)
  const asText = columns.map((one) => (isOpen(one) ? { name: one.name, type: 'VARCHAR' } : one))
  const rows = rowsOf(asText)
  const checks = open.flatMap(({ name }) => {
    const value = quote(name)
    return [
      `count_if(regexp_full_match(${value}, '${LONG}'))`,
      `count_if(NOT regexp_full_match(${value}, '-?[0-9]{1,${LONGEST_DIGITS}}'))`,
    ]
  })
  const result = await allRows(connection, `SELECT ${checks.join(', ')} FROM ${rows}`)
  const counts = (result[0] ?? []).map(Number)
  const types = new Map(
    open.map(({ name }, index) => {
      const [longCount = 0, otherCount = 0] = counts.slice(2 * index, 2 * index + 2)
      if (longCount === 0) return [name, 'DOUBLE']
      if (otherCount === 0) return [name, 'HUGEINT']
      warn(
        `Column ${shown(name)} is text: ${counted(longCount, 'number')} of more than 15 digits would be rounded`,
      )
      return [name, 'VARCHAR']
    }),
  )
  const selected = columns.map(({ name }) => {
    const type = types.get(name)
    return type === undefined ? quote(name) : `CAST(${quote(name)} AS ${type}) AS ${quote(name)}`
  })
  return `(SELECT ${selected.join(', ')} FROM ${rows})`
}

/** Larger files are not searched for a mistake. */
const LOOKED_AT_BYTES = 64 * 1024 * 1024

async function mistakeIn(path: string): Promise<string | null> {
  const file = Bun.file(path)
  if (file.size > LOOKED_AT_BYTES) return null
  const bytes = await file.bytes()
  return jsonMistake({ bytes, whole: 'file', isLenient: true }, async () => {})
}
