/** One text, searched in every way at once. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects } from '../../api/catalog.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { useShortcuts } from '../../shell/keyboard.tsx'
import type { KnowledgeBaseAddress } from '../knowledge-base/knowledge-base-frame.tsx'
import { type ColumnStates, useColumnSearch, useRested } from './columns/column-search.ts'
import { ResultColumns } from './columns/result-columns.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useJudgments } from './judgments/judging.ts'
import {
  COLUMNS,
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

export function SearchPart({ place }: { readonly place: KnowledgeBaseAddress }) {
  const [settings, setSettings] = useLabSettings()
  const [askedText, setAskedText] = useState('')
  const box = useRef<HTMLInputElement>(null)
  const [lookedAt, setLookedAt] = useState<string | null>(null)
  useShortcuts([{ keys: '/', does: 'Type a search', run: () => box.current?.select() }])
  const { text } = settings
  const { hasReranker, isOwnModel } = modelsOf(place)
  const isReranked = hasReranker && (settings.reranks || (text !== '' && askedText === text))
  const restMs = isOwnModel ? 0 : MODEL_RESTS_MS
  const states: ColumnStates = {
    vector: useColumnSearch(place, orderOf('vector', settings), restMs),
    keyword: useColumnSearch(place, orderOf('keyword', settings), 0),
    hybrid: useColumnSearch(place, orderOf('hybrid', settings), restMs),
    reranked: useColumnSearch(
      place,
      isReranked ? orderOf('reranked', settings) : null,
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
      <FilterBar filters={settings.filters} onChange={(filters) => change({ filters })} />
      {judging.failure && <Failure error={judging.failure} onRetry={judging.reload} />}
      {text.trim() === '' ? (
        <EmptyState icon="search" title="Type a text to search for">
          <p>
            Each column finds chunks in another way, so that you see why one ranks where it does.
          </p>
        </EmptyState>
      ) : (
        <ResultColumns
          place={place}
          settings={settings}
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

function modelsOf({ project, name }: KnowledgeBaseAddress) {
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
    setSettings(settingsOf(query))
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
