/** Every metadata column with its values or its range, and how many there are of each: what is chosen narrows the list down. */
import { useState } from 'preact/hooks'
import {
  type ColumnTypes,
  columnOf,
  type Filters,
  isFields,
  itemsOf,
  kindOfType,
  whereOf,
  without,
} from '../../../api/filters.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { quoted, runSql } from '../../../api/sql.ts'
import { Button, Icon } from '../../../components/button.tsx'
import { Failure, Loading } from '../../../components/failure.tsx'
import { counted, shownCount } from '../../../components/numbers.ts'
import { useResource } from '../../../components/resource.ts'
import type { ListAddress } from './list-address.ts'
import { type FacetProps, RangeFacet } from './range-facet.tsx'
import { TypedInput } from './typed-input.tsx'

interface FacetPanelProps {
  readonly of: KnowledgeBaseName
  readonly types: ColumnTypes
  readonly shown: ListAddress
  readonly onFilters: (filters: Filters) => void
}

export function FacetPanel({ of, types, shown, onFilters }: FacetPanelProps) {
  const columns = Object.keys(types)
  if (columns.length === 0) return null
  return (
    <details class="kb-facets panel" open={matchMedia('(min-width: 60rem)').matches}>
      <summary>
        <Icon name="filter" /> Filters
      </summary>
      {columns.map((column) => (
        <Facet
          key={column}
          of={of}
          column={column}
          types={types}
          others={without(shown.filters, column)}
          condition={shown.filters[column]}
          countsChunks={shown.shows === 'chunks'}
          onChange={(condition) => {
            const rest = without(shown.filters, column)
            onFilters(condition === undefined ? rest : { ...rest, [column]: condition })
          }}
        />
      ))}
    </details>
  )
}

/** Counted when it is opened for the first time. */
function Facet(props: FacetProps) {
  const [isOpen, setIsOpen] = useState(props.condition !== undefined)
  return (
    <details
      class="kb-facet"
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary dir="auto">{props.column}</summary>
      {isOpen && <Content {...props} />}
    </details>
  )
}

function Content(props: FacetProps) {
  const type = props.types[props.column] ?? 'VARCHAR'
  const kind = kindOfType(type)
  if (kind === 'number' || kind === 'time') return <RangeFacet {...props} />
  return type === 'VARCHAR' ? <TextFacet {...props} /> : <ValueFacet {...props} />
}

/** Rows of JSON have no dates: they come as texts. */
function TextFacet(props: FacetProps) {
  const { of, column } = props
  const { data, failure, reload } = useResource(
    (signal) => holdsDays(of, column, signal),
    ['days', of, column],
  )
  if (failure) return <Failure error={failure} onRetry={reload} />
  if (data === undefined) return <Loading what="the values" />
  return data ? <RangeFacet {...props} holdsDays /> : <ValueFacet {...props} />
}

async function holdsDays(
  { project, name }: KnowledgeBaseName,
  column: string,
  signal: AbortSignal,
) {
  const isDay = `regexp_matches(v, '^[0-9]{4}-[0-9][0-9]-[0-9][0-9]($|[ T])') AND try_cast(left(v, 10) AS DATE) IS NOT NULL`
  const from = `${quoted(project)}.${quoted(name)}`
  const { rows } = await runSql({
    sql: `SELECT count(v), count(DISTINCT v), count(v) FILTER (WHERE ${isDay})
      FROM (SELECT ${columnOf(column)} AS v FROM ${from})`,
    project,
    signal,
  })
  const [values, distinct, days] = (rows[0] ?? []).map(Number)
  return days !== undefined && days === values && (distinct ?? 0) > 1
}

const SHOWN = 12
const SHOWN_MORE = 200

/** The values of one column, the most frequent first, each with how often it is there. */
function ValueFacet(props: FacetProps) {
  const { of, column, others, condition, countsChunks, onChange } = props
  const [sought, setSought] = useState('')
  const [limit, setLimit] = useState(SHOWN)
  const isList = kindOfType(props.types[column] ?? '') === 'list'
  const { data, failure, reload } = useResource(
    (signal) => readValues(props, { sought, limit }, signal),
    [of, column, others, countsChunks, sought, limit],
  )
  if (failure) return <Failure error={failure} onRetry={reload} />
  const chosen = chosenIn(condition)
  const toggle = (value: unknown, isOn: boolean) => {
    if (isList) return onChange(isOn ? { contains: value } : undefined)
    const next = isOn ? [...chosen, value] : chosen.filter((one) => one !== value)
    onChange(next.length === 0 ? undefined : { in: next })
  }
  const isSearched = sought !== '' || (data?.total ?? 0) > SHOWN
  return (
    <div class="stack kb-facet-content">
      {isSearched && (
        <TypedInput
          kind="search"
          label={`Find a value of ${column}`}
          placeholder={data ? `Find among ${counted(data.total, 'value')}` : 'Find a value'}
          value={sought}
          onCommit={(text) => setSought(text.trim())}
        />
      )}
      {data === undefined && <Loading what="the values" />}
      {data?.values.length === 0 && <p class="small quiet">No such value</p>}
      <ul class="kb-values">
        {data?.values.map(({ value, count }) => (
          <li key={JSON.stringify(value)}>
            <label class="check">
              <input
                type="checkbox"
                checked={chosen.includes(value)}
                onChange={(event) => toggle(value, event.currentTarget.checked)}
              />
              <span class="one-line grow" dir="auto" title={String(value).slice(0, 500)}>
                {value === null ? <em>no value</em> : String(value).slice(0, 200)}
              </span>
              <span class="small quiet">{shownCount(count)}</span>
            </label>
          </li>
        ))}
      </ul>
      {data && limit === SHOWN && data.total > SHOWN && (
        <Button look="small" label="More values" onClick={() => setLimit(SHOWN_MORE)} />
      )}
    </div>
  )
}

async function readValues(
  { of, column, types, others, countsChunks }: FacetProps,
  { sought, limit }: { readonly sought: string; readonly limit: number },
  signal: AbortSignal,
) {
  const type = types[column] ?? 'VARCHAR'
  const where = whereOf(others, types)
  const isList = kindOfType(type) === 'list'
  const value = isList ? `unnest(${itemsOf(columnOf(column), type)})` : columnOf(column)
  const from = `${quoted(of.project)}.${quoted(of.name)}${where.sql}`
  const isLike = sought === '' ? '' : 'WHERE contains(lower(value::VARCHAR), lower(:sought))'
  const { rows } = await runSql({
    sql: `SELECT value, ${countsChunks ? 'count(*)' : 'count(DISTINCT document)'} AS n, count(*) OVER () AS total
      FROM (SELECT id AS document, ${value} AS value FROM ${from}) ${isLike}
      GROUP BY value ORDER BY n DESC, value LIMIT ${limit}`,
    project: of.project,
    params: sought === '' ? where.params : { ...where.params, sought },
    signal,
  })
  const values = rows.map(([one, count]) => ({ value: one, count: Number(count) }))
  return { values, total: Number(rows[0]?.[2] ?? 0) }
}

function chosenIn(condition: unknown): readonly unknown[] {
  if (condition === undefined) return []
  if (!isFields(condition)) return [condition]
  if (Array.isArray(condition.in)) return condition.in
  return condition.contains === undefined ? [] : [condition.contains]
}
