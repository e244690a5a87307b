/** One text, searched in every way at once. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects } from '../../api/catalog.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { useResource } from '../../components/resource.ts'
import { counted } from '../../format/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'
import { useShortcuts } from '../../shell/keyboard.tsx'
import { documentFilter, documentsOfPart } from '../map/selecting/map-part.ts'
import { type ColumnStates, useColumnSearch, useRested } from './columns/column-search.ts'
import { type ColumnOrders, ResultColumns } from './columns/result-columns.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useJudgments } from './judgments/judging.ts'
import {
  COLUMNS,
  type ColumnName,
  type Filters,
  type LabSettings,
  orderOf,
  queryOf,
  ranksOf,
  settingsOf,
  withValue,
} from './lab-settings.ts'
import { SearchControls } from './search-controls.tsx'

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
