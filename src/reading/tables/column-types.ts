import type { DuckDBConnection } from '@duckdb/node-api'
import { literal } from '../../core/domain/names.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { counted } from '../../core/short-text.ts'
import { CELL_KINDS, type CellKind, IS_NULL_MARKER, NULL_MARKERS } from './cell-kinds.ts'
import type { SampleRow } from './csv-layout.ts'

interface Candidate {
  readonly index: number
  readonly name: string
  /** SQL of the value. */
  readonly value: string
  readonly kinds: readonly CellKind[]
}

/** A single other value makes a column text. @param rows SQL after FROM, columns `c0`, … */
export async function columnPlans(
  connection: DuckDBConnection,
  rows: string,
  { names, sample }: { readonly names: readonly string[]; readonly sample: readonly SampleRow[] },
  warn: (sentence: string) => void,
): Promise<
  readonly {
    readonly name: string
    readonly expression: string
    readonly type: string
  }[]
> {
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

/** DuckDB 1.5.5 compares each expression with all others in a statement. */
const COLUMNS_SIDE_BY_SIDE = 40
/** Further columns are examined separately. */
const COLUMNS_PER_QUERY = 1000

/** If most values are of one kind and at most this share is not, a warning is added. */
const STRAYS_MAX = 0.1

/** Returns the kinds that all values of a column in the sample can have. */
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
  readonly kinds: readonly CellKind[]
  readonly valueCount: number
  readonly strayCount: number
  readonly stray: string
  readonly markerCount: number
  readonly marker: string
}

/** Tries the most likely kind on all rows first, then the others for the columns that remain. */
async function checkedInTurn(
  connection: DuckDBConnection,
  rows: string,
  candidates: readonly Candidate[],
): Promise<ReadonlyMap<number, Checked>> {
  const checked = new Map<number, Checked>()
  const check = async (all: readonly Candidate[], sideBySide: typeof checkedColumns) => {
    if (all.length === 0) return
    const found =
      all.length > COLUMNS_SIDE_BY_SIDE
        ? await checkedInALine(connection, rows, all)
        : await sideBySide(connection, rows, all)
    for (const one of found) checked.set(one.candidate.index, one)
  }
  const isOpen = (one: Candidate) => checked.get(one.index)?.kinds.length === 0
  const likely = candidates.map((one) => ({ ...one, kinds: likelyKinds(one.kinds) }))
  await check(likely, plainColumns)
  await check(likely.filter(isOpen), checkedColumns)
  const others = candidates.flatMap((one, index) => {
    const rest = one.kinds.filter((kind) => likely[index]?.kinds.includes(kind) !== true)
    return isOpen(one) && rest.length > 0 ? [{ ...one, kinds: rest }] : []
  })
  await check(others, checkedColumns)
  return checked
}

/** Most columns have values of one kind, without markers: one expression each. */
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
  const result = await allRows(connection, `SELECT ${selected.join(', ')} FROM ${rows}`)
  const counts = (result[0] ?? []).map(Number)
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

/** Returns the first kind, and those it could be confused with. */
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

/** A single expression, because DuckDB would make one of each value in an IN. */
function isMarkerSql(value: string): string {
  return `regexp_full_match(${value}, ${MARKERS})`
}

/** Returns the counts to select for the values of one column. */
function countsOf(value: string, kinds: readonly CellKind[]): readonly string[] {
  const strays = kinds.map((kind) => {
    const holds = holdsSql(kind, value)
    return `${value} IS NOT NULL AND NOT coalesce(${holds}, false) AND NOT ${isMarkerSql(value)}`
  })
  const isMarker = `${value} <> '' AND ${isMarkerSql(value)}`
  return [
    `count(${value})`,
    `count_if(${isMarker})`,
    `any_value(${value}) FILTER (${isMarker})`,
    `min(${value}) FILTER (${strays.at(-1)})`,
    ...strays.map((stray) => `count_if(${stray})`),
  ]
}

function checkedColumn(candidate: Candidate, counts: readonly unknown[]): Checked {
  const [valueCount = 0, markerCount = 0, marker, stray, ...strays] = counts
  const strayCounts = candidate.kinds.map((_, index) => Number(strays[index] ?? 0))
  return {
    candidate,
    kinds: candidate.kinds.filter((_, index) => strayCounts[index] === 0),
    valueCount: Number(valueCount),
    strayCount: Math.min(...strayCounts),
    stray: String(stray ?? ''),
    markerCount: Number(markerCount),
    marker: String(marker ?? ''),
  }
}

async function checkedColumns(
  connection: DuckDBConnection,
  rows: string,
  candidates: readonly Candidate[],
): Promise<readonly Checked[]> {
  const selected = candidates.flatMap(({ value, kinds }) => countsOf(value, kinds))
  const result = await allRows(connection, `SELECT ${selected.join(', ')} FROM ${rows}`)
  const values = result[0] ?? []
  let at = 0
  return candidates.map((candidate) => {
    const start = at
    at += 4 + candidate.kinds.length
    return checkedColumn(candidate, values.slice(start, at))
  })
}

/** Columns that may have the same kinds are examined as one, in a small statement. */
async function checkedInALine(
  connection: DuckDBConnection,
  rows: string,
  candidates: readonly Candidate[],
): Promise<readonly Checked[]> {
  const alike = Map.groupBy(candidates, ({ kinds }) => kinds.map(({ name }) => name).join('\n'))
  const checked: Checked[] = []
  for (const columns of alike.values()) {
    for (let start = 0; start < columns.length; start += COLUMNS_PER_QUERY) {
      const some = columns.slice(start, start + COLUMNS_PER_QUERY)
      const values = some.map(({ value }) => value).join(', ')
      const line = `SELECT unnest(range(${some.length})) AS place, unnest([${values}]) AS value FROM ${rows}`
      const counts = countsOf('value', some[0]?.kinds ?? []).join(', ')
      const sql = `SELECT place, ${counts} FROM (${line}) GROUP BY place`
      const found = await allRows(connection, sql)
      const byPlace = new Map(found.map(([place, ...rest]) => [Number(place), rest]))
      checked.push(...some.map((one, place) => checkedColumn(one, byPlace.get(place) ?? [])))
    }
  }
  return checked
}

/** What unambiguous columns show about the others in their file. */
interface Conventions {
  readonly isCommaDecimal: boolean
  /** Null if both orders or neither occur. */
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

/** Null means text. */
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
      `Column ${shown(candidate.name)}: points are read as thousands separators, because other columns have decimal commas`,
    )
    return comma
  }
  if (first === point && comma !== undefined) {
    if (conventions.isCommaDecimal) return comma
    warn(`Column ${shown(candidate.name)} is text: its commas may separate thousands or decimals`)
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

const SHOWN_CHARS = 40

export function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text)
}
