/** The range of a column of numbers or dates: bars to drag over, and two fields. */
import { columnOf, isFields, kindOfType, whereOf } from '../../../../api/filters.ts'
import { quoted, runSql } from '../../../../api/sql.ts'
import { Failure } from '../../../../components/failure.tsx'
import { Loading } from '../../../../components/progress.tsx'
import { useResource } from '../../../../components/resource.ts'
import { counted } from '../../../../format/numbers.ts'
import type { FacetProps } from './facet.ts'
import { type Bar, barsOver, Histogram } from './histogram.tsx'

const DAY_MS = 86_400_000

export function RangeFacet(props: FacetProps) {
  const { of, column, types, others, condition, countsChunks, onChange } = props
  const type = types[column] ?? ''
  const isTime = kindOfType(type) === 'time'
  const { data, failure, reload } = useResource(
    (signal) => readBars(props, signal),
    [of, column, others, countsChunks],
  )
  if (failure) return <Failure error={failure} onRetry={reload} />
  if (data === undefined) return <Loading what="the values" />
  const shown = (value: number) => (isTime ? dayOf(value) : String(value))
  const { '>=': from, '<=': to } = isFields(condition) ? condition : {}
  const choose = (least: unknown, most: unknown) => {
    const range = {
      ...(least === undefined ? {} : { '>=': least }),
      ...(most === undefined ? {} : { '<=': most }),
    }
    onChange(Object.keys(range).length === 0 ? undefined : range)
  }
  const typedValue = (text: string) => {
    if (text === '') return undefined
    return isTime ? text : Number(text)
  }
  const field = isTime ? ({ type: 'date' } as const) : ({ type: 'number', step: 'any' } as const)
  return (
    <div class="stack kb-facet-content">
      {data.bars.length > 0 && (
        <Histogram
          label={`How many of each ${column}. The fields below choose a range`}
          bars={data.bars}
          chosen={{ from: placeOf(from), to: placeOf(to) }}
          shown={shown}
          onChoose={(first, last) => {
            if (isTime) choose(dayOf(first.from), dayOf(last.to - DAY_MS))
            else choose(first.from, data.isWhole ? last.to - 1 : last.to)
          }}
        />
      )}
      <div class="row kb-range">
        <input
          {...field}
          aria-label={`${column} from`}
          value={textOf(from)}
          onChange={(event) => choose(typedValue(event.currentTarget.value), to)}
        />
        <span class="small quiet">to</span>
        <input
          {...field}
          aria-label={`${column} to`}
          value={textOf(to)}
          onChange={(event) => choose(from, typedValue(event.currentTarget.value))}
        />
      </div>
      {data.without > 0 && (
        <label class="check small">
          <input
            type="checkbox"
            checked={condition === null}
            onChange={(event) => onChange(event.currentTarget.checked ? null : undefined)}
          />
          {counted(data.without, 'chunk')} without a value
        </label>
      )}
    </div>
  )
}

async function readBars({ of, column, types, others }: FacetProps, signal: AbortSignal) {
  const type = types[column] ?? ''
  const isTime = kindOfType(type) === 'time'
  const isWhole = /INT/.test(type)
  const value = isTime ? `epoch_ms(${columnOf(column)}::TIMESTAMP)` : columnOf(column)
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
  const { rows } = await runSql({
    sql: `SELECT floor((v::DOUBLE - :least) / :width) AS bar, count(*) FROM (SELECT ${value} AS v FROM ${table}${where.sql})
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
