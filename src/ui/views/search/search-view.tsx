/** Searches a knowledge base as the user types, and can show all rankings side by side. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { Filters } from '../../api/filters.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/failure.tsx'
import { Check, SelectField, TextAreaField } from '../../components/form/field.tsx'
import { FilterChips } from '../../components/form/filter-chips.tsx'
import { FUSION_CHOICES, MODE_CHOICES, WeightField } from '../../components/form/search-fields.tsx'
import { knownOf } from '../../components/known-name.ts'
import { addressOf } from '../../shell/addresses.ts'
import { KnowledgeBaseFrame } from '../knowledge-base/knowledge-base-frame.tsx'
import { evaluateStatement, useJudgments } from './judgments.ts'
import { type LiveSearch, useLiveSearch } from './live-search.ts'
import { Compared, Results } from './search-results.tsx'
import {
  modeOf,
  orderOf,
  parsedFilters,
  queryOf,
  type Ranking,
  type SearchSettings,
  settingsOf,
  withValue,
} from './search-settings.ts'

export function SearchView({ project, name }: KnowledgeBaseName) {
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <SearchPart key={`${project}/${name}`} place={{ project, name }} />
    </KnowledgeBaseFrame>
  )
}

/** Searches with a provider's model cost money, so they wait until the user pauses typing. */
const MODEL_RESTS_MS = 300

function SearchPart({ place }: { readonly place: KnowledgeBaseName }) {
  const [settings, setSettings] = useSettings()
  const [askedText, setAskedText] = useState('')
  const judging = useJudgments(place)
  const { text, mode, compares } = settings
  const kb = knownOf('knowledgeBases', place)
  const hasReranker = kb?.reranking_model != null
  const isReranked = hasReranker && (settings.reranks || (text !== '' && askedText === text))
  const restMs = kb?.embedding_model.provider === 'builtin' ? 0 : MODEL_RESTS_MS
  const orderFor = (ranking: Ranking, isWanted: boolean) => {
    return isWanted ? orderOf(ranking, settings) : null
  }
  const searches: Readonly<Record<Ranking, LiveSearch>> = {
    vector: useLiveSearch(place, orderFor('vector', compares || mode === 'vector'), restMs),
    keyword: useLiveSearch(place, orderFor('keyword', compares || mode === 'keyword'), 0),
    hybrid: useLiveSearch(place, orderFor('hybrid', compares || mode === 'hybrid'), restMs),
    reranked: useLiveSearch(
      place,
      orderFor('reranked', isReranked),
      settings.reranks ? MODEL_RESTS_MS : 0,
    ),
  }
  const change = (part: Partial<SearchSettings>) =>
    setSettings((before) => ({ ...before, ...part }))
  const shared = {
    place,
    searches,
    shownColumns: kb?.metadata_columns ?? [],
    onRerank: () => setAskedText(text),
    onFilter: (column: string, value: unknown, isItem: boolean) => {
      setSettings((before) => {
        return { ...before, filters: withValue(before.filters, column, value, isItem) }
      })
    },
  }
  return (
    <>
      <SearchBox
        settings={settings}
        kb={kb}
        measure={judging.isAny ? evaluateStatement(place, settings) : undefined}
        onChange={change}
        onEnter={() => setAskedText(text)}
      />
      <FilterChips filters={settings.filters} onFilters={(filters) => change({ filters })} />
      {text.trim() === '' ? (
        <EmptyState icon="search" title="Type text to search for">
          <p>Results appear while you type.</p>
        </EmptyState>
      ) : compares ? (
        <Compared {...shared} judging={judging} hasReranker={hasReranker} />
      ) : (
        <Results {...shared} ranking={isReranked ? 'reranked' : mode} />
      )}
    </>
  )
}

const ADDRESS_RESTS_MS = 250

/** The settings in the address. Changes are written there after a pause. */
function useSettings() {
  const { query, path } = useLocation()
  const inHash = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
  const given = JSON.stringify({ ...query, ...inHash })
  const [settings, setSettings] = useState(() => settingsOf(JSON.parse(given)))
  const known = useRef(given)
  useEffect(() => {
    if (known.current === given) return
    known.current = given
    setSettings(settingsOf(JSON.parse(given)))
  }, [given])
  const latest = useRef(settings)
  latest.current = settings
  useEffect(() => {
    // Bypasses the router, because nothing else must be rendered again.
    const write = () => {
      if (location.pathname !== path) return
      const next = `${path}${queryOf(latest.current)}`
      const now = `${path}${location.search}${location.hash}`
      if (next !== now) history.replaceState(null, '', next)
    }
    const timer = setTimeout(write, ADDRESS_RESTS_MS)
    // Writes the last characters to the URL before a click on a link leaves the view.
    document.addEventListener('focusout', write)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('focusout', write)
    }
  }, [settings, path])
  return [settings, setSettings] as const
}

interface SearchBoxProps {
  readonly settings: SearchSettings
  readonly kb: KnowledgeBase | undefined
  /** A statement that measures these settings; unset without judgments. */
  readonly measure: string | undefined
  readonly onChange: (part: Partial<SearchSettings>) => void
  readonly onEnter: () => void
}

const COUNTS = [5, 10, 20, 50, 100]

function SearchBox({ settings, kb, measure, onChange, onEnter }: SearchBoxProps) {
  const { text, mode, alpha, fusion, k, reranks, compares } = settings
  return (
    <form
      class="list"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onEnter()
      }}
    >
      <div class="row">
        <input
          type="search"
          class="grow search-box"
          aria-label="Search"
          placeholder="Search"
          autocomplete="off"
          dir="auto"
          value={text}
          onInput={(event) => onChange({ text: event.currentTarget.value })}
        />
        <Button
          look="small"
          label="Compare"
          aria-pressed={compares}
          title="Semantic, keyword and hybrid results side by side"
          onClick={() => onChange({ compares: !compares })}
        />
        {measure !== undefined && (
          <a class="button small" href={addressOf.written(measure)}>
            Measure
          </a>
        )}
      </div>
      <details>
        <summary class="small">Options</summary>
        <div class="grid">
          <SelectField
            label="Search by"
            value={mode}
            onChoose={(value) => onChange({ mode: modeOf(value) })}
            options={MODE_CHOICES}
          />
          <WeightField alpha={alpha} onChange={(weight) => onChange({ alpha: weight })} />
          <SelectField
            label="Combine rankings by"
            value={fusion ?? ''}
            onChoose={(value) => onChange({ fusion: value || null })}
            options={[['', 'Knowledge base default'], ...FUSION_CHOICES]}
          />
          <SelectField
            label="Results"
            value={String(k)}
            onChoose={(value) => onChange({ k: Number(value) })}
            options={new Set([...COUNTS, k])}
          />
          {kb?.reranking_model != null && (
            <Check checked={reranks} onCheck={(isChecked) => onChange({ reranks: isChecked })}>
              Rerank while I type
            </Check>
          )}
          <FilterField filters={settings.filters} onChange={(filters) => onChange({ filters })} />
        </div>
      </details>
    </form>
  )
}

interface FilterProps {
  readonly filters: Filters
  readonly onChange: (filters: Filters) => void
}

function FilterField({ filters, onChange }: FilterProps) {
  const given = Object.keys(filters).length === 0 ? '' : JSON.stringify(filters)
  const [typed, setTyped] = useState<string | null>(null)
  const text = typed ?? given
  const isWrong = text.trim() !== '' && parsedFilters(text) === null
  return (
    <TextAreaField
      label="Filter"
      hint={'JSON such as {"price": {"<": 10}, "colour": "green"}'}
      error={isWrong ? 'Not a JSON object yet; the previous filter still applies' : undefined}
      dir="ltr"
      class="mono"
      rows={2}
      spellcheck={false}
      value={text}
      onBlur={() => setTyped(null)}
      onText={(next) => {
        setTyped(next)
        const parsed = parsedFilters(next.trim() === '' ? '{}' : next)
        if (parsed !== null) onChange(parsed)
      }}
    />
  )
}
