/** The range of a column of numbers or dates: bars to drag over, and two fields. */
import { columnOf, isFields, kindOfType, whereOf } from '../../../../api/filters.ts'
import { quoted, runSql } from '../../../../api/sql.ts'
import { Failure } from '../../../../components/failure.tsx'
import { Loading } from '../../../../components/progress.tsx'
import { useResource } from '../../../../components/resource.ts'
import { counted } from '../../../../format/numbers.ts'
import { TypedInput } from '../typed-input.tsx'
import type { FacetProps } from './facet.ts'
import { type Bar, barsOver, Histogram } from './histogram.tsx'

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
