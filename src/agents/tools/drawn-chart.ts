import type { Chart } from '../../core/domain/agents/completion-event.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { type DataReader, observationOf, type TypedRows } from '../data/agent-data.ts'
import { type ArgumentSpecs, type ArgumentValues, readArguments } from './named-arguments.ts'
import { statementIn } from './written-statement.ts'

const CHART_ROWS_MAX = 1_000
/** The size limit for all rows as JSON. */
const CHART_BYTES_MAX = 262_144
const CHART_TITLE_CHARS_MAX = 200
/** The most slices that people can distinguish. */
const SLICES_MAX = 30
const SHOWN_ROWS = 5

const CHART_KINDS = ['line', 'bar', 'scatter', 'histogram', 'pie'] as const

export const CHART = {
  kind: {
    type: 'string',
    isRequired: true,
    values: CHART_KINDS,
    description: `One of ${CHART_KINDS.join(', ')}`,
  },
  sql: {
    type: 'string',
    isRequired: true,
    description: `One SELECT for the points, aggregated and ordered as they are to be shown; at most ${CHART_ROWS_MAX} rows`,
  },
  x: {
    type: 'string',
    isRequired: true,
    description:
      'The column of the result along the horizontal axis; of a pie: what its slices are named by',
  },
  y: {
    type: 'string',
    description:
      'The column of numbers along the vertical axis; of a pie: the size of the slices. A histogram has none',
  },
  series: {
    type: 'string',
    description: 'A column whose values separate several lines, bars or point clouds',
  },
  title: { type: 'string', description: 'What the chart shows, in the language of the question' },
} as const satisfies ArgumentSpecs

type ChartKind = (typeof CHART_KINDS)[number]

type Wanted = ArgumentValues<typeof CHART>

export interface DrawnChart {
  readonly chart: Chart
  readonly text: string
}

export async function drawChart(
  input: string,
  reader: DataReader,
  signal: AbortSignal,
  bytesMax: number,
): Promise<DrawnChart> {
  const wanted = readArguments(input, CHART)
  const sql = statementIn(wanted.sql)
  const rows = await reader.read(sql, signal, CHART_ROWS_MAX)
  if (rows.hasMore) {
    throw wrongChart(
      `the statement returns more than ${CHART_ROWS_MAX} rows: aggregate or set a LIMIT`,
    )
  }
  if (rows.rows.length === 0) throw wrongChart('the statement returns no rows')
  if (Buffer.byteLength(JSON.stringify(rows.rows)) > CHART_BYTES_MAX) {
    throw wrongChart(`the rows have more than ${CHART_BYTES_MAX} bytes: select only what is shown`)
  }
  const chart = { spec: specOf(wanted, rows), sql, column_names: rows.columns, data: rows.rows }
  const shown = { ...rows, rows: rows.rows.slice(0, SHOWN_ROWS) }
  const { text } = observationOf(shown, { rowsMax: SHOWN_ROWS, bytesMax: bytesMax - 500 })
  const note = `The chart (${wanted.kind}, ${rows.rows.length} rows) is shown to the user beside your answer: say what it shows, and do not draw it again. Its first rows:`
  return { chart, text: `${note}\n${text}` }
}

type Kind = 'quantitative' | 'temporal' | 'nominal'

interface Field {
  readonly name: string
  readonly index: number
  readonly kind: Kind
}

/** The subset of Vega-Lite 5 that Eider uses: inline rows, no loading, no expressions. */
function specOf(wanted: Wanted, result: TypedRows): Chart['spec'] {
  const x = fieldNamed('x', wanted.x, result)
  const y = wanted.y === null ? null : fieldNamed('y', wanted.y, result)
  const series = wanted.series === null ? null : fieldNamed('series', wanted.series, result)
  const names = keysOf(result.columns)
  const values = result.rows.map((row) => {
    return Object.fromEntries(
      row.map((value, index) => [names[index] ?? '', plainCell(value, result.types[index])]),
    )
  })
  const title = wanted.title?.slice(0, CHART_TITLE_CHARS_MAX).toWellFormed()
  return {
    ...(title === undefined ? {} : { title }),
    data: { values },
    mark: { type: CHART_MARKS[wanted.kind], tooltip: true },
    encoding: encodingOf(wanted.kind, { x, y, series }, names, result),
  }
}

const CHART_MARKS = {
  line: 'line',
  bar: 'bar',
  scatter: 'point',
  histogram: 'bar',
  pie: 'arc',
} as const

interface Fields {
  readonly x: Field
  readonly y: Field | null
  readonly series: Field | null
}

function encodingOf(
  kind: ChartKind,
  { x, y, series }: Fields,
  names: readonly string[],
  { rows }: TypedRows,
): Readonly<Record<string, object>> {
  const channel = ({ index, name, kind: type }: Field) => {
    return { field: names[index] ?? '', type, title: name }
  }
  const color = series === null ? {} : { color: { ...channel(series), type: 'nominal' } }
  if (kind === 'histogram') {
    if (x.kind !== 'quantitative')
      throw wrongChart(`a histogram needs numbers, and "${x.name}" has none`)
    const count = { aggregate: 'count', type: 'quantitative', title: 'count' }
    return { x: { ...channel(x), bin: true }, y: count, ...color }
  }
  if (y === null) throw wrongChart(`"y" is missing: a ${kind} chart needs a column of numbers`)
  if (y.kind !== 'quantitative') throw wrongChart(`"${y.name}" is not a numeric column`)
  if (kind === 'pie') {
    if (rows.length > SLICES_MAX)
      throw wrongChart(`a pie has at most ${SLICES_MAX} slices: use a bar chart or a LIMIT`)
    const isNegative = rows.some((row) => Number(row[y.index]) < 0)
    if (isNegative) throw wrongChart(`"${y.name}" has values below 0, which a pie cannot show`)
    return { theta: channel(y), color: { ...channel(x), type: 'nominal' } }
  }
  // Keeps the statement's order, which the model chose.
  const sort = x.kind === 'nominal' ? { sort: null } : {}
  const bars = kind === 'bar' && x.kind === 'quantitative' ? { type: 'ordinal', sort: null } : {}
  return { x: { ...channel(x), ...sort, ...bars }, y: channel(y), ...color }
}

function fieldNamed(argument: string, written: string, { columns, types, rows }: TypedRows): Field {
  const wanted = written.replaceAll(/^["'`]|["'`]$/g, '').toLowerCase()
  const exact = columns.indexOf(written)
  const index = exact === -1 ? columns.findIndex((name) => name.toLowerCase() === wanted) : exact
  const name = columns[index]
  if (name === undefined) {
    throw wrongChart(
      `"${argument}" is ${JSON.stringify(written.slice(0, 200))}, and the result has the columns ${columns.slice(0, 50).join(', ')}`,
    )
  }
  const cells = rows.map((row) => row[index] ?? null)
  return { name, index, kind: cellKind(types[index] ?? '', cells) }
}

const NUMBER_TYPE =
  /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|UINTEGER|UHUGEINT|FLOAT|DOUBLE|DECIMAL|REAL)/i

function cellKind(type: string, cells: readonly ResultValue[]): Kind {
  if (NUMBER_TYPE.test(type)) return 'quantitative'
  if (/^(?:DATE|TIMESTAMP)/i.test(type)) return 'temporal'
  const known = cells.filter((cell) => cell !== null)
  const isNumber = known.length > 0 && known.every((cell) => typeof cell === 'number')
  return isNumber ? 'quantitative' : 'nominal'
}

/** Field names without dots and brackets, because Vega-Lite reads those as paths. */
function keysOf(columns: readonly string[]): readonly string[] {
  const keys: string[] = []
  for (const name of columns) {
    const key = name
      .replaceAll(/[.[\]\\'"]/g, '_')
      .slice(0, CHART_TITLE_CHARS_MAX)
      .toWellFormed()
    keys.push(
      key === '' || key === '__proto__' || keys.includes(key) ? `column_${keys.length + 1}` : key,
    )
  }
  return keys
}

/** Numbers that JSON lacks become strings. Timestamps get a `T` for readers that need it. */
function plainCell(value: ResultValue, type = ''): ResultValue {
  if (typeof value !== 'string')
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  if (NUMBER_TYPE.test(type) && Number.isFinite(Number(value))) return Number(value)
  return /^TIMESTAMP/i.test(type) ? value.replace(' ', 'T') : value
}

function wrongChart(why: string): AppError {
  return new AppError('invalid_request', `No chart was drawn: ${why}`)
}
