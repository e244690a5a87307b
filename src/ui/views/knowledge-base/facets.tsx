/** Each metadata column with its values and counts, or a range. Choosing one filters the list. */

import type { InputHTMLAttributes } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { quote } from '../../../core/domain/names.ts'
import { isObject } from '../../../core/json.ts'
import { shortened } from '../../../core/short-text.ts'
import { DAY_MS } from '../../../core/time.ts'
import {
  type ColumnTypes,
  columnOf,
  type Filters,
  itemsOf,
  kindOfType,
  whereOf,
  without,
} from '../../api/filters.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { runSql } from '../../api/sql.ts'
import { Button, Icon } from '../../components/button.tsx'
import { Check } from '../../components/form/field.tsx'
import { shownCount } from '../../components/numbers.ts'
import { Details, Loaded } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'

export function FacetPanel(props: {
  readonly of: KnowledgeBaseName
  readonly types: ColumnTypes
  readonly filters: Filters
  readonly onFilters: (filters: Filters) => void
}) {
  const { of, types, filters, onFilters } = props
  const columns = Object.keys(types)
  if (columns.length === 0) return null
  return (
    <details class="side panel" open={matchMedia('(min-width: 60rem)').matches}>
      <summary>
        <Icon name="filter" /> Filters
      </summary>
      {columns.map((column) => (
        <Facet
          key={column}
          of={of}
          column={column}
          types={types}
          others={without(filters, column)}
          condition={filters[column]}
          onChange={(condition) => {
            const rest = without(filters, column)
            onFilters(condition === undefined ? rest : { ...rest, [column]: condition })
          }}
        />
      ))}
    </details>
  )
}

interface FacetProps {
  readonly of: KnowledgeBaseName
  readonly column: string
  readonly types: ColumnTypes
  /** The filters for the other columns, because a facet's own choice must not change its counts. */
  readonly others: Filters
  readonly condition: unknown
  /** undefined means no condition. */
  readonly onChange: (condition: unknown) => void
}

function Facet(props: FacetProps) {
  const kind = kindOfType(props.types[props.column] ?? 'VARCHAR')
  return (
    <Details
      class="kb-facet"
      open={props.condition !== undefined}
      head={<summary>{props.column}</summary>}
    >
      {kind === 'value' && <TextFacet {...props} />}
      {kind === 'list' && <ValueFacet {...props} />}
      {kind === 'number' && <RangeFacet {...props} type="number" />}
      {kind === 'time' && <RangeFacet {...props} type="date" />}
    </Details>
  )
}

const IS_DAY = `regexp_matches(v, '^[0-9]{4}-[0-9][0-9]-[0-9][0-9]($|[ T])')`

/** JSON has no dates, so texts that all start with a date are filtered by a date range. */
function TextFacet(props: FacetProps) {
  const { of, column } = props
  const days = useResource(
    async (signal) => {
      const value = `${columnOf(column)}::VARCHAR`
      const sql = `SELECT count(v) > 0 AND bool_and(${IS_DAY}) FROM (SELECT ${value} AS v FROM ${tableOf(of)})`
      const { rows } = await runSql({ sql, project: of.project, signal })
      return { areDays: rows[0]?.[0] === true }
    },
    ['days', of, column],
  )
  return (
    <Loaded of={days} what="the values">
      {({ areDays }) =>
        areDays ? <RangeFacet {...props} type="date" /> : <ValueFacet {...props} />
      }
    </Loaded>
  )
}

function tableOf({ project, name }: KnowledgeBaseName): string {
  return `${quote(project)}.${quote(name)}`
}

function RangeFacet(props: FacetProps & { readonly type: 'number' | 'date' }) {
  const { column, types, condition, type, onChange } = props
  const { from, to } = rangeIn(condition)
  // Includes the whole last day if values have a time of day.
  const hasTimes = type === 'date' && types[column] !== 'DATE'
  const choose = (least: string, most: string) => {
    const typedValue = (text: string) => (type === 'date' ? text : Number(text))
    const end = hasTimes ? { '<': dayOf(most, 1) } : { '<=': typedValue(most) }
    const range = {
      ...(least === '' ? {} : { '>=': typedValue(least) }),
      ...(most === '' ? {} : end),
    }
    onChange(Object.keys(range).length === 0 ? undefined : range)
  }
  return (
    <div class="list">
      <div class="row kb-range">
        <TypedInput
          type={type}
          label={`${column} from`}
          value={from}
          onCommit={(text) => choose(text, to)}
        />
        <span class="small quiet">to</span>
        <TypedInput
          type={type}
          label={`${column} to`}
          value={to}
          onCommit={(text) => choose(from, text)}
        />
      </div>
      <Check
        checked={condition === null}
        onCheck={(isChecked) => onChange(isChecked ? null : undefined)}
      >
        <span class="small">no value</span>
      </Check>
    </div>
  )
}

/** The chosen range, as its fields show it. */
function rangeIn(condition: unknown) {
  if (!isObject(condition)) return { from: '', to: '' }
  const { '>=': from = '', '<=': most = '', '<': below } = condition
  return { from: String(from), to: typeof below === 'string' ? dayOf(below, -1) : String(most) }
}

function dayOf(day: string, later: number): string {
  const ms = Date.parse(day)
  return Number.isNaN(ms) ? '' : new Date(ms + later * DAY_MS).toISOString().slice(0, 10)
}

const SHOWN = 12
const SHOWN_MORE = 200

function ValueFacet(props: FacetProps) {
  const { of, column, types, others, condition, onChange } = props
  const [sought, setSought] = useState('')
  const [limit, setLimit] = useState(SHOWN)
  const isList = kindOfType(types[column] ?? '') === 'list'
  const read = useResource(
    (signal) => readValues(props, sought, limit, signal),
    [of, column, others],
    [sought, limit],
  )
  const chosen = chosenIn(condition)
  const toggle = (value: unknown, isOn: boolean) => {
    if (isList) return onChange(isOn ? { contains: value } : undefined)
    const next = isOn ? [...chosen, value] : chosen.filter((one) => one !== value)
    onChange(next.length === 0 ? undefined : { in: next })
  }
  return (
    <div class="list">
      <Loaded of={read} what="the values">
        {({ values, total }) => (
          <>
            {(sought !== '' || total > SHOWN) && (
              <TypedInput
                type="search"
                label={`Find a value of ${column}`}
                placeholder={`Find among ${shownCount(total)} values`}
                value={sought}
                onCommit={(text) => setSought(text.trim())}
              />
            )}
            <ul class="list">
              {values.map(({ value, count }) => (
                <li key={JSON.stringify(value)}>
                  <Check
                    checked={chosen.includes(value)}
                    onCheck={(isChecked) => toggle(value, isChecked)}
                  >
                    <span class="one-line grow">
                      {value === null ? <em>no value</em> : shortened(String(value), 200)}
                    </span>
                    <span class="small quiet">{shownCount(count)}</span>
                  </Check>
                </li>
              ))}
            </ul>
            {limit === SHOWN && total > SHOWN && (
              <Button look="small" label="More values" onClick={() => setLimit(SHOWN_MORE)} />
            )}
          </>
        )}
      </Loaded>
    </div>
  )
}

async function readValues(
  { of, column, types, others }: FacetProps,
  sought: string,
  limit: number,
  signal: AbortSignal,
) {
  const type = types[column] ?? 'VARCHAR'
  const own = columnOf(column)
  const value = kindOfType(type) === 'list' ? `unnest(${itemsOf(own, type)})` : own
  const from = `${tableOf(of)}${whereOf(others, types)}`
  const { rows } = await runSql({
    sql: `SELECT value, count(DISTINCT document) AS n, count(*) OVER () AS total
      FROM (SELECT id AS document, ${value} AS value FROM ${from})
      ${sought === '' ? '' : 'WHERE contains(lower(value::VARCHAR), lower(:sought))'}
      GROUP BY value ORDER BY n DESC, value LIMIT ${limit}`,
    project: of.project,
    params: sought === '' ? {} : { sought },
    signal,
  })
  const values = rows.map(([one, count]) => ({ value: one, count: Number(count) }))
  return { values, total: Number(rows[0]?.[2] ?? 0) }
}

function chosenIn(condition: unknown): readonly unknown[] {
  if (condition === undefined) return []
  if (!isObject(condition)) return [condition]
  if (Array.isArray(condition.in)) return condition.in
  return condition.contains === undefined ? [] : [condition.contains]
}

interface TypedInputProps {
  readonly type: 'number' | 'date' | 'search'
  readonly label: string
  readonly value: string
  readonly placeholder?: string
  readonly onCommit: (text: string) => void
}

/** A field whose value is applied when the user leaves it or presses Enter. */
function TypedInput({ type, label, value, onCommit, ...others }: TypedInputProps) {
  const [text, setText] = useState(value)
  useLayoutEffect(() => setText(value), [value])
  // Preact has a type for each kind of input, but cannot tell which one fits; the cast is safe.
  const input = { ...others, type, step: 'any', 'aria-label': label } as InputHTMLAttributes
  return (
    <input
      {...input}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
      onChange={(event) => onCommit(event.currentTarget.value)}
    />
  )
}
