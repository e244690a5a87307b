/** One text, searched in every way at once. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects } from '../../api/catalog.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { useShortcuts } from '../../shell/keyboard.tsx'
import type { KnowledgeBaseAddress } from '../knowledge-base/knowledge-base-frame.tsx'
import { type ColumnState, useColumnSearch, useRested } from './columns/column-search.ts'
import { ResultColumns } from './columns/result-columns.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useJudgments } from './judgments/judging.ts'
import {
  COLUMNS,
  type ColumnName,
  type LabSettings,
  orderOf,
  queryOf,
  ranksOf,
  settingsOf,
  withValue,
} from './lab-settings.ts'
import { SearchControls } from './search-controls.tsx'

const TYPING_RESTS_MS = 30
const ADDRESS_RESTS_MS = 250

export function SearchPart({ place }: { readonly place: KnowledgeBaseAddress }) {
  const [settings, setSettings] = useLabSettings()
  const [askedText, setAskedText] = useState('')
  const box = useRef<HTMLInputElement>(null)
  const [lookedAt, setLookedAt] = useState<string | null>(null)
  useShortcuts([{ keys: '/', does: 'Type a search', run: () => box.current?.select() }])
  const text = useRested(settings.text, TYPING_RESTS_MS)
  const searched = { ...settings, text }
  const hasReranker = knowledgeBaseOf(place)?.reranking_model != null
  const isReranked = hasReranker && (settings.reranks || (text !== '' && askedText === text))
  const states: Readonly<Record<ColumnName, ColumnState>> = {
    vector: useColumnSearch(place, orderOf('vector', searched)),
    keyword: useColumnSearch(place, orderOf('keyword', searched)),
    hybrid: useColumnSearch(place, orderOf('hybrid', searched)),
    reranked: useColumnSearch(place, isReranked ? orderOf('reranked', searched) : null),
  }
  const ranks = ranksOf(COLUMNS.map((column) => [column, states[column].answer?.results ?? []]))
  const judging = useJudgments(place)
  const change = (part: Partial<LabSettings>) => setSettings((before) => ({ ...before, ...part }))
  return (
    <>
      <SearchControls
        settings={settings}
        onChange={change}
        box={box}
        onEnter={() => setAskedText(settings.text)}
      />
      <FilterBar filters={settings.filters} onChange={(filters) => change({ filters })} />
      {text.trim() === '' ? (
        <EmptyState icon="search" title="Type a text to search for">
          <p>
            Each column finds chunks in another way, so that you see why one ranks where it does.
          </p>
        </EmptyState>
      ) : (
        <ResultColumns
          place={place}
          settings={searched}
          states={states}
          ranks={ranks}
          hasReranker={hasReranker}
          lookedAt={lookedAt}
          onRerank={() => setAskedText(text)}
          actions={{
            onLookAt: setLookedAt,
            onFilter: (column, value, isItem) => {
              change({ filters: withValue(settings.filters, column, value, isItem) })
            },
            onJudge: (document, grade) => judging.judge({ question: text, document, grade }),
            gradeOf: (document) => judging.gradeOf(text, document),
          }}
        />
      )}
    </>
  )
}

function knowledgeBaseOf({ project, name }: KnowledgeBaseAddress) {
  const found = projects.value?.find((one) => one.name === project)
  return found?.knowledgeBases.find((one) => one.name === name)
}

/** The settings as the address says; what changes is written there once it rests. */
function useLabSettings() {
  const { query, path } = useLocation()
  const [settings, setSettings] = useState(() => settingsOf(query))
  const given = JSON.stringify(query)
  const known = useRef(given)
  useEffect(() => {
    if (known.current === given) return
    known.current = given
    setSettings(settingsOf(query))
  }, [given])
  const rested = useRested(settings, ADDRESS_RESTS_MS)
  useEffect(() => {
    const next = `${path}${queryOf(rested)}`
    // Not by the router: nothing else has to be drawn again.
    if (next !== `${location.pathname}${location.search}`) history.replaceState(null, '', next)
  }, [rested])
  return [settings, setSettings] as const
}
