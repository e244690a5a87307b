import type { DuckDBConnection } from '@duckdb/node-api'
import { literal } from '../../domain/identifier.ts'
import { CELL_KINDS, type CellKind, IS_NULL_MARKER, NULL_MARKERS } from './cell-kinds.ts'
import type { SampleRow } from './csv-layout.ts'

/** A column of text, and what it becomes. */
export interface ColumnPlan {
  readonly name: string
  /** SQL over the column `c<index>` of the rows. */
  readonly expression: string
  readonly type: string
}

interface Candidate {
  readonly index: number
  readonly name: string
  /** SQL of the value. */
  readonly value: string
  readonly kinds: readonly CellKind[]
}

/**
 * Finds the type of every column, from all of its rows: a column with one value of another kind is text.
 * @param rows what a FROM takes; its columns are `c0`, `c1` … of text
 * @param sample the first rows: what they cannot be need not be tried on all
 */
export async function columnPlans(
  connection: DuckDBConnection,
  rows: string,
  { names, sample }: { readonly names: readonly string[]; readonly sample: readonly SampleRow[] },
  warn: (sentence: string) => void,
): Promise<readonly ColumnPlan[]> {
  const candidates: Candidate[] = []
  for (const [index, name] of names.entries()) {
    const { kinds, isPadded } = possibleKinds(sample, index, (stray) =>
      warn(`Column ${shown(name)} is text: ${stray}`),
    )
    const value = isPadded ? `trim(c${index})` : `c${index}`
    if (kinds.length > 0) candidates.push({ index, name, value, kinds })
  }
  const checked = await checkedInTurn(connection, rows, candidates)
  const conventions = conventionsOf([...checked.values()])
  return names.map((name, index) => {
    const found = checked.get(index)
    const kind = found === undefined ? null : chosenKind(found, conventions, warn)
    if (kind === null || found === undefined)
      return { name, expression: `c${index}`, type: 'VARCHAR' }
    if (found.markerCount > 0) {
      warn(
        `Column ${shown(name)}: ${counted(found.markerCount, 'value')} such as ${shown(found.marker)} ${found.markerCount === 1 ? 'is' : 'are'} NULL`,
      )
    }
    return { name, expression: kind.cast(found.candidate.value), type: kind.type }
  })
}

const PLAIN_COLUMNS_PER_QUERY = 500
/** DuckDB 1.5.5 takes seconds to plan as many of the larger expressions as it reads columns in one go. */
const COLUMNS_PER_QUERY = 20

/** Most values are of one kind and some are not: worth a word. */
const STRAYS_MAX = 0.1

/** What all values of a column in the sample can be. */
function possibleKinds(
  sample: readonly SampleRow[],
  index: number,
  onStray: (sentence: string) => void,
): { kinds: readonly CellKind[]; isPadded: boolean } {
  let kinds: readonly CellKind[] | null = null
  let isPadded = false
  for (const { cells } of sample) {
    const cell = cells[index]
    if (cell === undefined || IS_NULL_MARKER.has(cell)) continue
    const value = cell.trim()
    if (value.length !== cell.length) isPadded = true
    if (IS_NULL_MARKER.has(value)) continue
    kinds = (kinds ?? CELL_KINDS).filter((kind) => kind.pattern.test(value))
    if (kinds.length === 0) {
      describeStrays(sample, index, onStray)
      break
    }
  }
  return { kinds: kinds ?? [], isPadded }
}

function describeStrays(
  sample: readonly SampleRow[],
  index: number,
  onStray: (sentence: string) => void,
): void {
  const values = sample.flatMap(({ line, cells }) => {
    const value = (cells[index] ?? '').trim()
    return IS_NULL_MARKER.has(value) ? [] : [{ line, value }]
  })
  for (const [name, kinds] of STRAY_KINDS) {
    const strays = values.filter(({ value }) => !kinds.some((kind) => kind.pattern.test(value)))
    const [first] = strays
    if (first === undefined || values.length < 5 || strays.length > values.length * STRAYS_MAX)
      continue
    onStray(
      `${strays.length} of its first ${values.length} values ${strays.length === 1 ? `is no ${name}` : `are no ${name}s`}, such as ${shown(first.value)} in line ${first.line}`,
    )
    return
  }
}

const STRAY_KINDS: readonly (readonly [string, readonly CellKind[]])[] = [
  ['number', CELL_KINDS.filter(({ type }) => type === 'BIGINT' || type === 'DOUBLE')],
  ['date', CELL_KINDS.filter(({ type }) => type === 'DATE' || type.startsWith('TIMESTAMP'))],
]

interface Checked {
  readonly candidate: Candidate
  /** What all rows can be. */
  readonly kinds: readonly CellKind[]
  readonly valueCount: number
  readonly strayCount: number
  readonly stray: string
  readonly markerCount: number
  readonly marker: string
}

/** On all rows, first what is most likely, and the rest only for columns that are something else. */
async function checkedInTurn(
  connection: DuckDBConnection,
  rows: string,
  candidates: readonly Candidate[],
): Promise<ReadonlyMap<number, Checked>> {
  const checked = new Map<number, Checked>()
  const check = async (
    all: readonly Candidate[],
    query: typeof checkedColumns,
    columns: number,
  ) => {
    for (let start = 0; start < all.length; start += columns) {
      for (const one of await query(connection, rows, all.slice(start, start + columns))) {
        checked.set(one.candidate.index, one)
      }
    }
  }
  const isOpen = (one: Candidate) => checked.get(one.index)?.kinds.length === 0
  const likely = candidates.map((one) => ({ ...one, kinds: likelyKinds(one.kinds) }))
  await check(likely, plainColumns, PLAIN_COLUMNS_PER_QUERY)
  await check(likely.filter(isOpen), checkedColumns, COLUMNS_PER_QUERY)
  const others = candidates.flatMap((one, index) => {
    const rest = one.kinds.filter((kind) => likely[index]?.kinds.includes(kind) !== true)
    return isOpen(one) && rest.length > 0 ? [{ ...one, kinds: rest }] : []
  })
  await check(others, checkedColumns, COLUMNS_PER_QUERY)
  return checked
}

/** Columns whose values are all of a kind, without markers: most of them, by one expression each. */
async function plainColumns(
  connection: DuckDBConnection,
  rows: string,
  candidates: readonly Candidate[],
): Promise<readonly Checked[]> {
  const selected = candidates.flatMap(({ value, kinds }) =>
    kinds.map(
      (kind) => `count_if(${value} IS NOT NULL AND NOT coalesce(${holdsSql(kind, value)}, false))`,
    ),
  )
  const result = await connection.runAndReadAll(`SELECT ${selected.join(', ')} FROM ${rows}`)
  const counts = (result.getRows()[0] ?? []).map(Number)
  let at = 0
  return candidates.map((candidate) => {
    const kinds = candidate.kinds.filter((_, index) => counts[at + index] === 0)
    at += candidate.kinds.length
    return { candidate, kinds, valueCount: 0, strayCount: 0, stray: '', markerCount: 0, marker: '' }
  })
}

function holdsSql(kind: CellKind, value: string): string {
  return kind.holds?.(value) ?? `${kind.cast(value)} IS NOT NULL`
}

/** The first one, and those with which it could be confused. */
function likelyKinds(kinds: readonly CellKind[]): readonly CellKind[] {
  const [first] = kinds
  if (first === undefined) return []
  const isNumber = first.type === 'DOUBLE'
  const isDay = DAY_FIRST.test(first.name)
  return kinds.filter(
    (kind) =>
      kind === first ||
      (isNumber && kind.name === '1.234,5') ||
      (isDay && MONTH_FIRST.test(kind.name)),
  )
}

const MARKERS = literal(NULL_MARKERS.map((marker) => marker.replace(/[\\?.]/g, '\\$&')).join('|'))

/** One expression: DuckDB makes one of each value of an IN. */
function isMarkerSql(value: string): string {
  return `regexp_full_match(${value}, ${MARKERS})`
}

async function checkedColumns(
  connection: DuckDBConnection,
  rows: string,
  candidates: readonly Candidate[],
): Promise<readonly Checked[]> {
  const selected = candidates.flatMap(({ value, kinds }) => {
    const strays = kinds.map((kind) => {
      const holds = holdsSql(kind, value)
      return `${value} IS NOT NULL AND NOT coalesce(${holds}, false) AND NOT ${isMarkerSql(value)}`
    })
    return [
      `count(${value})`,
      `count_if(${value} <> '' AND ${isMarkerSql(value)})`,
      `any_value(${value}) FILTER (${value} <> '' AND ${isMarkerSql(value)})`,
      `min(${value}) FILTER (${strays.at(-1)})`,
      ...strays.map((stray) => `count_if(${stray})`),
    ]
  })
  const result = await connection.runAndReadAll(`SELECT ${selected.join(', ')} FROM ${rows}`)
  const values = result.getRows()[0] ?? []
  let at = 0
  return candidates.map((candidate) => {
    const [valueCount, markerCount, marker, stray] = values.slice(at, at + 4)
    const strayCounts = values.slice(at + 4, at + 4 + candidate.kinds.length).map(Number)
    at += 4 + candidate.kinds.length
    return {
      candidate,
      kinds: candidate.kinds.filter((_, index) => strayCounts[index] === 0),
      valueCount: Number(valueCount),
      strayCount: Math.min(...strayCounts),
      stray: String(stray ?? ''),
      markerCount: Number(markerCount),
      marker: String(marker ?? ''),
    }
  })
}

/** What columns with one reading only say about the others of their file. */
interface Conventions {
  readonly isCommaDecimal: boolean
  /** `null`: both or neither. */
  readonly isMonthFirst: boolean | null
}

function conventionsOf(columns: readonly Checked[]): Conventions {
  const names = columns.map(({ kinds }) => new Set(kinds.map((kind) => kind.name)))
  const isComma = names.some(
    (set) => set.has('1.234,5') && !set.has('1,234.5') && !set.has('number'),
  )
  const isPoint = names.some(
    (set) => set.has('1,234.5') && !set.has('1.234,5') && !set.has('number'),
  )
  const starts = (set: ReadonlySet<string>, begin: RegExp) =>
    [...set].some((name) => begin.test(name))
  const isDayFirst = names.some((set) => starts(set, DAY_FIRST) && !starts(set, MONTH_FIRST))
  const isMonthFirst = names.some((set) => starts(set, MONTH_FIRST) && !starts(set, DAY_FIRST))
  return {
    isCommaDecimal: isComma && !isPoint,
    isMonthFirst: isDayFirst === isMonthFirst ? null : isMonthFirst,
  }
}

const DAY_FIRST = /^%d[/-]%m/
const MONTH_FIRST = /^%m[/-]%d/

/** null: text. */
function chosenKind(
  { candidate, kinds, valueCount, strayCount, stray }: Checked,
  conventions: Conventions,
  warn: (sentence: string) => void,
): CellKind | null {
  const named = (name: string) => kinds.find((kind) => kind.name === name)
  const [first] = kinds
  if (first === undefined) {
    if (valueCount > 0 && strayCount <= valueCount * STRAYS_MAX) {
      warn(
        `Column ${shown(candidate.name)} is text: ${strayCount} of ${counted(valueCount, 'value')} cannot be read as the others, such as ${shown(stray)}`,
      )
    }
    return null
  }
  const point = named('1,234.5')
  const comma = named('1.234,5')
  if (first.name === 'number' && comma !== undefined && conventions.isCommaDecimal) {
    warn(
      `Column ${shown(candidate.name)}: points are read as signs between thousands, since other columns have decimal commas`,
    )
    return comma
  }
  if (first === point && comma !== undefined) {
    if (conventions.isCommaDecimal) return comma
    warn(
      `Column ${shown(candidate.name)} is text: its commas may stand between thousands or before decimals`,
    )
    return null
  }
  const monthFirst = kinds.find((kind) => MONTH_FIRST.test(kind.name))
  if (DAY_FIRST.test(first.name) && monthFirst !== undefined) {
    if (conventions.isMonthFirst !== null) return conventions.isMonthFirst ? monthFirst : first
    warn(
      `Column ${shown(candidate.name)} is text: its dates may begin with the day or with the month`,
    )
    return null
  }
  return first
}

export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

const SHOWN_CHARS = 40

export function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text)
}
