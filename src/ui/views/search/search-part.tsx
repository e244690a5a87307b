/** One text, searched in every way at once. */
import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects } from '../../api/catalog.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { Button, Icon } from '../../components/button.tsx'
import { EmptyState, Failure } from '../../components/failure.tsx'
import { Check, SelectField, TextAreaField } from '../../components/form/field.tsx'
import { FusionField, WeightField } from '../../components/form/search-fields.tsx'
import { counted } from '../../components/numbers.ts'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { useShortcuts } from '../../shell/keyboard.tsx'
import { documentFilter, documentsOfPart } from '../map/map-part.ts'
import { type ColumnStates, useColumnSearch, useRested } from './columns/column-search.ts'
import {
  COLUMNS,
  type ColumnName,
  type Filters,
  type LabSettings,
  orderOf,
  parsedFilters,
  queryOf,
  ranksOf,
  settingsOf,
  withoutCondition,
  withValue,
} from './columns/lab-settings.ts'
import { type ColumnOrders, ResultColumns } from './columns/result-columns.tsx'
import { useJudgments } from './judgments/judging.ts'

const ADDRESS_RESTS_MS = 250
/** A model of another provider costs something with each search: it is asked once the typing rests. */
const MODEL_RESTS_MS = 300

export function SearchPart({ place }: { readonly place: KnowledgeBaseName }) {
  const [settings, setSettings] = useLabSettings()
  const [askedText, setAskedText] = useState('')
  const box = useRef<HTMLInputElement>(null)
  const [lookedAt, setLookedAt] = useState<string | null>(null)
  useShortcuts([{ keys: '/', does: 'Type a search', run: () => box.current?.select() }])
  const { text } = settings
  const { hasReranker, isOwnModel } = modelsOf(place)
  const isReranked = hasReranker && (settings.reranks || (text !== '' && askedText === text))
  const restMs = isOwnModel ? 0 : MODEL_RESTS_MS
  const part = useMapPart(place, settings.within)
  const orders = useOrders(settings, part.data)
  const states: ColumnStates = {
    vector: useColumnSearch(place, orders.vector, restMs),
    keyword: useColumnSearch(place, orders.keyword, 0),
    hybrid: useColumnSearch(place, orders.hybrid, restMs),
    reranked: useColumnSearch(
      place,
      isReranked ? orders.reranked : null,
      settings.reranks ? MODEL_RESTS_MS : 0,
    ),
  }
  const ranks = ranksOf(COLUMNS.map((column) => [column, states[column].answer?.results ?? []]))
  const judging = useJudgments(place)
  const change = (part: Partial<LabSettings>) => setSettings((before) => ({ ...before, ...part }))
  return (
    <>
      <SearchControls
        settings={settings}
        hasReranker={hasReranker}
        onChange={change}
        box={box}
        onEnter={() => setAskedText(settings.text)}
      />
      <FilterBar
        filters={settings.filters}
        onChange={(filters) => change({ filters })}
        part={settings.within === null ? null : shownPart(part.data)}
        onWhole={() => change({ within: null })}
      />
      {part.failure && <PartFailure error={part.failure} place={place} onRetry={part.reload} />}
      {judging.failure && <Failure error={judging.failure} onRetry={judging.reload} />}
      {text.trim() === '' ? (
        <EmptyState icon="search" title="Type a text to search for">
          <p>
            Each column finds chunks in another way, so that you see why one ranks where it does.
          </p>
        </EmptyState>
      ) : part.failure ? null : (
        <ResultColumns
          place={place}
          orders={orders}
          states={states}
          ranks={ranks}
          hasReranker={hasReranker}
          lookedAt={lookedAt}
          gradeOf={judging.gradeOf}
          onRerank={() => setAskedText(text)}
          onRetry={() => {
            for (const column of COLUMNS) states[column].retry()
          }}
          actions={{
            onLookAt: setLookedAt,
            onFilter: (column, value, isItem) => {
              setSettings((before) => {
                return { ...before, filters: withValue(before.filters, column, value, isItem) }
              })
            },
            onJudge: (question, document, grade) => judging.judge({ question, document, grade }),
          }}
        />
      )}
    </>
  )
}

/** The filter of a part of the map; null: all of it is searched. Undefined: it is not known yet. */
function useMapPart(place: KnowledgeBaseName, within: string | null) {
  return useResource(
    async (signal) => {
      if (within === null) return null
      const ids = await documentsOfPart(place, within, signal)
      return { count: ids.length, filter: documentFilter(ids) }
    },
    [place.project, place.name, within],
  )
}

type MapPartFilter = { readonly count: number; readonly filter: Filters } | null | undefined

function shownPart(part: MapPartFilter): string {
  return part ? counted(part.count, 'document') : '…'
}

/** While a part of the map is not known yet, nothing is searched. */
function useOrders(settings: LabSettings, part: MapPartFilter): ColumnOrders {
  return useMemo(() => {
    const of = (column: ColumnName) => {
      return part === undefined ? null : orderOf(column, settings, part?.filter ?? null)
    }
    return {
      ...{ vector: of('vector'), keyword: of('keyword') },
      ...{ hybrid: of('hybrid'), reranked: of('reranked') },
    }
  }, [settings, part])
}

interface PartFailureProps {
  readonly error: Error
  readonly place: KnowledgeBaseName
  readonly onRetry: () => void
}

function PartFailure({ error, place, onRetry }: PartFailureProps) {
  return (
    <>
      <Failure title="The part of the map is not known" error={error} onRetry={onRetry} />
      <p>
        <a href={addressOf.map(place.project, place.name)}>Open the map</a>
      </p>
    </>
  )
}

function modelsOf({ project, name }: KnowledgeBaseName) {
  const found = projects.value?.find((one) => one.name === project)
  const kb = found?.knowledgeBases.find((one) => one.name === name)
  return {
    hasReranker: kb?.reranking_model != null,
    isOwnModel: kb?.embedding_model.provider === 'builtin',
  }
}

/** The settings as the address says; what changes is written there once it rests. */
function useLabSettings() {
  const { query, path } = useLocation()
  const [settings, setSettings] = useState(() => settingsOf({ ...query, ...longText() }))
  const given = JSON.stringify(query)
  const known = useRef(given)
  useEffect(() => {
    if (known.current === given) return
    known.current = given
    setSettings(settingsOf({ ...query, ...longText() }))
  }, [given])
  const latest = useRef(settings)
  latest.current = settings
  const rested = useRested(settings, ADDRESS_RESTS_MS)
  useEffect(() => {
    const write = () => writeAddress(path, latest.current)
    write()
    // Whoever goes on at once, by a link or a menu, leaves what was typed last in the address as well.
    document.addEventListener('focusout', write)
    return () => document.removeEventListener('focusout', write)
  }, [rested, path])
  return [settings, setSettings] as const
}

/** Not by the router: nothing else has to be drawn again. */
function writeAddress(path: string, settings: LabSettings): void {
  if (location.pathname !== path) return
  const next = `${path}${addressPartOf(settings)}`
  if (next !== `${path}${location.search}${location.hash}`) history.replaceState(null, '', next)
}

/** A longer address may be refused by the server, which never sees what stands behind the `#`. */
const QUERY_CHARS_MAX = 6000

function addressPartOf(settings: LabSettings): string {
  const query = queryOf(settings)
  if (query.length <= QUERY_CHARS_MAX) return query
  return `${queryOf({ ...settings, text: '' })}#${new URLSearchParams({ q: settings.text })}`
}

function longText(): { readonly q?: string } {
  const text = new URLSearchParams(location.hash.slice(1)).get('q')
  return text === null ? {} : { q: text }
}

interface SearchControlsProps {
  readonly settings: LabSettings
  readonly hasReranker: boolean
  readonly onChange: (part: Partial<LabSettings>) => void
  readonly box: RefObject<HTMLInputElement | null>
  /** What may be slow is searched now. */
  readonly onEnter: () => void
}

const COUNTS = [5, 10, 20, 50, 100]

/** What is searched, and how. */
function SearchControls({ settings, hasReranker, onChange, box, onEnter }: SearchControlsProps) {
  const { text, alpha, fusion, k, reranks } = settings
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onEnter()
      }}
    >
      <input
        ref={box}
        type="search"
        class="search-box"
        aria-label="Search"
        placeholder="Search, as you would ask it"
        autocomplete="off"
        dir="auto"
        value={text}
        onInput={(event) => onChange({ text: event.currentTarget.value })}
      />
      <div class="search-settings">
        <WeightField alpha={alpha} onChange={(weight) => onChange({ alpha: weight })} />
        <FusionField
          fusion={fusion}
          otherwise="As set for the knowledge base"
          onChoose={(chosen) => onChange({ fusion: chosen })}
        />
        <SelectField
          label="Results"
          value={String(k)}
          onChoose={(value) => onChange({ k: Number(value) })}
          options={[...new Set([...COUNTS, k])]}
        />
        {hasReranker && (
          <Check checked={reranks} onCheck={(isChecked) => onChange({ reranks: isChecked })}>
            Rerank while I type
          </Check>
        )}
      </div>
    </form>
  )
}

interface FilterBarProps {
  readonly filters: Filters
  readonly onChange: (filters: Filters) => void
  /** What of the map is searched; null: all of it. */
  readonly part: string | null
  readonly onWhole: () => void
}

/** The conditions that chunks must fulfil: taken away by a click, or written as JSON. */
function FilterBar({ filters, onChange, part, onWhole }: FilterBarProps) {
  const [typed, setTyped] = useState<string | null>(null)
  const conditions = Object.entries(filters)
  const isOpen = typed !== null
  const type = (text: string) => {
    setTyped(text)
    const parsed = parsedFilters(text.trim() === '' ? '{}' : text)
    if (parsed !== null) onChange(parsed)
  }
  const isWrong = isOpen && typed.trim() !== '' && parsedFilters(typed) === null
  return (
    <div class="stack">
      <div class="row">
        <Icon name="filter" />
        {conditions.length === 0 && part === null && (
          <span class="quiet small">All chunks. Click a value below to filter.</span>
        )}
        {part !== null && (
          <button
            type="button"
            class="search-chip"
            aria-label="Remove the filter by the map"
            onClick={onWhole}
          >
            selected on the map: {part} ×
          </button>
        )}
        {conditions.map(([key, value]) => (
          <button
            key={key}
            type="button"
            class="search-chip"
            aria-label={`Remove the filter ${key}`}
            onClick={() => {
              setTyped(null)
              onChange(withoutCondition(filters, key))
            }}
          >
            <bdi>
              {key.replace(/^metadata\./, '')}: {shownCondition(value)}
            </bdi>{' '}
            ×
          </button>
        ))}
        <Button
          look="small"
          label={isOpen ? 'Close the editor' : 'Edit as JSON'}
          aria-expanded={isOpen}
          onClick={() => setTyped(isOpen ? null : JSON.stringify(filters, null, 2))}
        />
      </div>
      {isOpen && (
        <TextAreaField
          label="Filter"
          hint={'As in {"price": {"<": 10}, "colour": "green"}'}
          error={isWrong ? 'Not a JSON object yet; the previous filter still applies' : undefined}
          dir="ltr"
          class="mono"
          rows={4}
          spellcheck={false}
          value={typed}
          onText={type}
        />
      )}
    </div>
  )
}

const LISTED_MAX = 5

/** As JSON; of a long list, as a map gives one, how long it is. */
function shownCondition(condition: unknown): string {
  const isList = typeof condition === 'object' && condition !== null && 'in' in condition
  const list = isList && Array.isArray(condition.in) ? condition.in : []
  if (list.length > LISTED_MAX) return `one of ${counted(list.length, 'value')}`
  return JSON.stringify(condition)
}
