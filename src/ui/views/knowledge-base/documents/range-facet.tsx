/** The range of a column of numbers or dates: bars to drag over, and two fields. */
import { useRef, useState } from 'preact/hooks'
import {
  type ColumnTypes,
  columnOf,
  type Filters,
  isFields,
  kindOfType,
  whereOf,
} from '../../../api/filters.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { quoted, runSql } from '../../../api/sql.ts'
import { Failure, Loading } from '../../../components/failure.tsx'
import { counted, shownCount } from '../../../components/numbers.ts'
import { useResource } from '../../../components/resource.ts'
import { TypedInput } from './typed-input.tsx'

const DAY_MS = 86_400_000

export function RangeFacet(props: FacetProps) {
  const { of, column, types, others, condition, countsChunks, onChange } = props
  const type = types[column] ?? ''
  const isTime = isOfTime(props)
  const { data, failure, reload } = useResource(
    (signal) => readBars(props, signal),
    [of, column, others, countsChunks],
  )
  if (failure) return <Failure error={failure} onRetry={reload} />
  if (data === undefined) return <Loading what="the values" />
  const shown = (value: number) => (isTime ? dayOf(value) : String(value))
  // The last day is meant whole, where a value may be a time of it.
  const hasTimes = isTime && type !== 'DATE'
  const { from, to } = rangeIn(condition)
  const choose = (least: unknown, most: unknown) => {
    const end = hasTimes ? { '<': dayAfter(most) } : { '<=': most }
    const range = {
      ...(least === undefined ? {} : { '>=': least }),
      ...(most === undefined ? {} : end),
    }
    onChange(Object.keys(range).length === 0 ? undefined : range)
  }
  const typedValue = (text: string) => {
    if (text === '') return undefined
    return isTime ? text : Number(text)
  }
  const kind = isTime ? 'date' : 'number'
  const [first, last] = [data.bars[0], data.bars.at(-1)]
  return (
    <div class="stack kb-facet-content">
      {first && last && (
        <>
          <Histogram
            label={`How many of each ${column}. The fields below choose a range`}
            bars={data.bars}
            chosen={{ from: placeOf(from), to: placeOf(to) }}
            shown={shown}
            onChoose={(start, end) => {
              if (isTime) choose(dayOf(start.from), dayOf(end.to - DAY_MS))
              else choose(start.from, data.isWhole ? end.to - 1 : end.to)
            }}
          />
          <p class="row small quiet kb-ends">
            <span class="grow">{shown(first.from)}</span>
            <span>{shown(isTime ? last.to - DAY_MS : last.to)}</span>
          </p>
        </>
      )}
      {data.bars.length === 0 && <p class="small quiet">No values</p>}
      <div class="row kb-range">
        <TypedInput
          kind={kind}
          label={`${column} from`}
          value={textOf(from)}
          onCommit={(text) => choose(typedValue(text), to)}
        />
        <span class="small quiet">to</span>
        <TypedInput
          kind={kind}
          label={`${column} to`}
          value={textOf(to)}
          onCommit={(text) => choose(from, typedValue(text))}
        />
      </div>
      {data.without > 0 && (
        <label class="check small">
          <input
            type="checkbox"
            checked={condition === null}
            onChange={(event) => onChange(event.currentTarget.checked ? null : undefined)}
          />
          {counted(data.without, countsChunks ? 'chunk' : 'document')} without a value
        </label>
      )}
    </div>
  )
}

function isOfTime({ types, column, holdsDays = false }: FacetProps): boolean {
  return holdsDays || kindOfType(types[column] ?? '') === 'time'
}

async function readBars(props: FacetProps, signal: AbortSignal) {
  const { of, column, types, others, holdsDays, countsChunks } = props
  const type = types[column] ?? ''
  const isTime = isOfTime(props)
  const isWhole = /INT/.test(type)
  const own = columnOf(column)
  const moment = holdsDays ? `try_cast(left(${own}, 10) AS DATE)::TIMESTAMP` : `${own}::TIMESTAMP`
  const value = isTime ? `epoch_ms(${moment})` : own
  const table = `${quoted(of.project)}.${quoted(of.name)}`
  const { rows: ends } = await runSql({
    sql: `SELECT min(v)::DOUBLE, max(v)::DOUBLE FROM (SELECT ${value} AS v FROM ${table}) WHERE isfinite(v::DOUBLE)`,
    project: of.project,
    signal,
  })
  const [least, most] = ends[0] ?? []
  const hasValues = typeof least === 'number' && typeof most === 'number'
  const bars = !hasValues ? [] : isTime ? daysOver(least, most) : barsOver(least, most, isWhole)
  const first = bars[0]
  if (first === undefined) return { bars, isWhole, without: 0 }
  const where = whereOf(others, types)
  const count = countsChunks ? 'count(*)' : 'count(DISTINCT document)'
  const { rows } = await runSql({
    sql: `SELECT floor((v::DOUBLE - :least) / :width) AS bar, ${count} FROM (SELECT id AS document, ${value} AS v FROM ${table}${where.sql})
      WHERE v IS NULL OR isfinite(v::DOUBLE) GROUP BY bar`,
    project: of.project,
    params: { ...where.params, least: first.from, width: first.to - first.from },
    signal,
  })
  const counts = new Map(
    rows.map(([bar, count]) => [bar === null ? null : Number(bar), Number(count)]),
  )
  const counted = bars.map((bar, index): Bar => ({ ...bar, count: counts.get(index) ?? 0 }))
  return { bars: counted, isWhole, without: counts.get(null) ?? 0 }
}

function daysOver(least: number, most: number): readonly Bar[] {
  return barsOver(Math.floor(least / DAY_MS), Math.floor(most / DAY_MS), true).map(
    ({ from, to }) => ({ from: from * DAY_MS, to: to * DAY_MS, count: 0 }),
  )
}

/** The range that is chosen; its end is the last day that is in it. */
function rangeIn(condition: unknown) {
  if (!isFields(condition)) return { from: undefined, to: undefined }
  const { '>=': from, '<=': most, '<': below } = condition
  const end = placeOf(below)
  return { from, to: end === undefined ? most : dayOf(end - DAY_MS) }
}

function dayAfter(day: unknown): string {
  return dayOf(Number(placeOf(day) ?? 0) + DAY_MS)
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function placeOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

function textOf(value: unknown): string {
  return value === undefined ? '' : String(value)
}

interface Bar {
  readonly from: number
  readonly to: number
  readonly count: number
}

interface HistogramProps {
  readonly label: string
  readonly bars: readonly Bar[]
  /** What is chosen now; open ends are undefined. */
  readonly chosen?: { readonly from?: number | undefined; readonly to?: number | undefined }
  readonly shown: (value: number) => string
  /** The bars that were dragged over. */
  readonly onChoose: (first: Bar, last: Bar) => void
}

const HEIGHT = 48

/** How many values there are of each size. A drag over the bars chooses a range; two fields beside it do the same by keyboard. */
function Histogram({ label, bars, chosen, shown, onChoose }: HistogramProps) {
  const svg = useRef<SVGSVGElement>(null)
  const [drag, setDrag] = useState<{ from: number; to: number }>()
  const highest = Math.max(1, ...bars.map(({ count }) => count))
  const barAt = (event: PointerEvent) => {
    const box = svg.current?.getBoundingClientRect()
    if (box === undefined || box.width === 0) return 0
    const index = Math.floor(((event.clientX - box.left) / box.width) * bars.length)
    return Math.max(0, Math.min(bars.length - 1, index))
  }
  const isChosen = ({ from, to }: Bar, index: number) => {
    if (drag) return index >= Math.min(drag.from, drag.to) && index <= Math.max(drag.from, drag.to)
    return (chosen?.to === undefined || from <= chosen.to) && (chosen?.from ?? -Infinity) < to
  }
  const end = () => {
    if (drag === undefined) return
    const first = bars[Math.min(drag.from, drag.to)]
    const last = bars[Math.max(drag.from, drag.to)]
    setDrag(undefined)
    if (first && last) onChoose(first, last)
  }
  return (
    <svg
      ref={svg}
      class="histogram"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${bars.length * 10} ${HEIGHT}`}
      preserveAspectRatio="none"
      onPointerDown={(event) => {
        svg.current?.setPointerCapture(event.pointerId)
        setDrag({ from: barAt(event), to: barAt(event) })
      }}
      onPointerMove={(event) => drag && setDrag({ ...drag, to: barAt(event) })}
      onPointerUp={end}
      onPointerCancel={() => setDrag(undefined)}
    >
      {bars.map((bar, index) => {
        const height = bar.count === 0 ? 0 : Math.max(2, (bar.count / highest) * HEIGHT)
        return (
          <g key={bar.from} class={isChosen(bar, index) ? 'chosen' : ''}>
            <rect class="ground" x={index * 10} y={0} width={10} height={HEIGHT} />
            <rect x={index * 10 + 0.5} y={HEIGHT - height} width={9} height={height} />
            <title>{`${shown(bar.from)} – ${shown(bar.to)}: ${shownCount(bar.count)}`}</title>
          </g>
        )
      })}
    </svg>
  )
}

/** Bars of one round width over all values: 1, 2 or 5 times a power of ten; whole numbers are not divided. */
function barsOver(min: number, max: number, isWhole: boolean): readonly Bar[] {
  const wanted = (max - min) / BARS_MAX
  const power = 10 ** Math.floor(Math.log10(wanted || 1))
  const round = [1, 2, 5, 10].map((factor) => factor * power).find((width) => width >= wanted)
  const width = isWhole ? Math.max(1, Math.round(round ?? 1)) : (round ?? 1)
  const from = Math.floor(min / width) * width
  const count = Math.min(BARS_MAX + 2, Math.floor((max - from) / width) + 1)
  return Array.from({ length: count }, (_, index) => {
    // Edges are multiples of the width, so that they stay round: 0.1 + 0.2 is not 0.3.
    const edge = (at: number) => Number((from + at * width).toPrecision(12))
    return { from: edge(index), to: edge(index + 1), count: 0 }
  })
}

const BARS_MAX = 30

/** What a facet of one column is given. */
export interface FacetProps {
  readonly of: KnowledgeBaseName
  readonly column: string
  readonly types: ColumnTypes
  /** Of the other columns: a facet's own choice does not narrow its own counts. */
  readonly others: Filters
  readonly condition: unknown
  readonly countsChunks: boolean
  /** Texts of which each begins with a day, as `2024-05-06`: narrowed down as dates are. */
  readonly holdsDays?: boolean
  /** Undefined: no condition. */
  readonly onChange: (condition: unknown) => void
}
