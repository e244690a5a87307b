/** Every metadata column with its values or its range, and how many there are of each: what is chosen narrows the list down. */
import { useState } from 'preact/hooks'
import {
  type ColumnTypes,
  columnOf,
  type Filters,
  kindOfType,
  without,
} from '../../../../api/filters.ts'
import type { KnowledgeBaseName } from '../../../../api/knowledge-bases.ts'
import { quoted, runSql } from '../../../../api/sql.ts'
import { Failure } from '../../../../components/failure.tsx'
import { Icon } from '../../../../components/icon.tsx'
import { Loading } from '../../../../components/progress.tsx'
import { useResource } from '../../../../components/resource.ts'
import type { ListAddress } from '../list-address.ts'
import type { FacetProps } from './facet.ts'
import { RangeFacet } from './range-facet.tsx'
import { ValueFacet } from './value-facet.tsx'

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
