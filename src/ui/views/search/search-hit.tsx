/**
 * A result with its document, its text with the matching words, its metadata and neighbouring
 * chunks.
 */

import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { shortened } from '../../../core/short-text.ts'
import { type SearchHit as Hit, type KnowledgeBaseName, search } from '../../api/knowledge-bases.ts'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import type { Judging } from './judgments.ts'
import type { Ranking, Ranks } from './search-settings.ts'

/** Additional information when rankings are compared. */
export interface Comparing {
  readonly ranks: ReadonlyMap<string, Ranks>
  /** The rankings that have arrived. */
  readonly rankings: readonly Ranking[]
  readonly judging: Judging
}

interface SearchHitProps {
  readonly hit: Hit
  readonly question: string
  readonly ranking: Ranking
  readonly place: KnowledgeBaseName
  /** The metadata columns to show; empty for all. */
  readonly shownColumns: readonly string[]
  readonly onFilter: (column: string, value: unknown, isItem: boolean) => void
  /** Missing if only one ranking is shown. */
  readonly comparing: Comparing | undefined
}

export function SearchHit(props: SearchHitProps) {
  const { hit, question, ranking, place, shownColumns, onFilter, comparing } = props
  const [isWhole, setIsWhole] = useState(false)
  const [isAround, setIsAround] = useState(false)
  const excerpt = useMemo(() => excerptOf(hit.chunk_content, hit.highlights ?? []), [hit])
  const shown = isWhole ? wholeOf(hit.chunk_content, hit.highlights ?? []) : excerpt
  const values = valuesOf(hit.metadata, shownColumns)
  const canGrow = excerpt.isCut || hit.chunk_content.includes('\n') || values.length > VALUES_SHOWN
  return (
    <li class="panel list search-hit">
      <div class="row search-hit-head">
        <strong class="quiet">{hit.rank}</strong>
        <a class="one-line grow" href={chunkAddress(place, hit)} title={hit.id}>
          {nameOf(hit)}
        </a>
        {comparing && <OtherRanks {...{ hit, ranking, comparing }} />}
        <Score hit={hit} ranking={ranking} />
      </div>
      <p class={`pre ${isWhole ? '' : 'search-hit-cut clamped'}`}>
        <MarkedText text={shown.text} ranges={shown.ranges} />
      </p>
      {values.length > 0 && (
        <ul class="row">
          {values.slice(0, isWhole ? VALUES_MAX : VALUES_SHOWN).map(({ name, value, isItem }) => (
            <li key={`${name} ${value}`}>
              <button
                type="button"
                class="text-button badge"
                title="Show only results with this value"
                onClick={() => onFilter(name, value, isItem)}
              >
                <span class="quiet">{name}</span> <bdi>{shortened(String(value), VALUE_CHARS)}</bdi>
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="row search-hit-foot">
        {canGrow && (
          <Button
            look="small quiet"
            label={isWhole ? 'Less' : 'More'}
            aria-expanded={isWhole}
            onClick={() => setIsWhole(!isWhole)}
          />
        )}
        <Button
          look="small quiet"
          label="Context"
          title="The text before and after this chunk"
          aria-expanded={isAround}
          onClick={() => setIsAround(!isAround)}
        />
        {comparing && <Marks {...{ hit, question, comparing }} />}
      </div>
      {isAround && <Neighbours place={place} chunkId={hit.chunk_id} />}
    </li>
  )
}

/** The title of the result's document, as in the list of documents. */
function nameOf({ id, metadata: { title } }: Hit): string {
  return typeof title === 'string' && title !== '' ? title : id
}

/** Keys that chunking sets, or that the result's head shows. */
const OWN = new Set(
  'chunk_index content_column start_char end_char original_doc_id original_row_index source title'.split(
    ' ',
  ),
)
const VALUES_SHOWN = 6
const VALUES_MAX = 100
const VALUE_CHARS = 60

/** Metadata to show and to filter by, without empty values. */
export function valuesOf(
  metadata: Readonly<Record<string, unknown>>,
  shownColumns: readonly string[],
) {
  const isShown = (name: string) => shownColumns.length === 0 || shownColumns.includes(name)
  const isSamePage = (name: string, value: unknown) =>
    name === 'page_end' && value === metadata.page
  return Object.entries(metadata)
    .filter(([name, value]) => !OWN.has(name) && isShown(name) && !isSamePage(name, value))
    .flatMap(([name, value]) => {
      if (!Array.isArray(value)) return [{ name, value, isItem: false }]
      return [...new Set<unknown>(value)].map((item) => ({ name, value: item, isItem: true }))
    })
    .filter(({ value }) => value !== '' && value !== null && typeof value !== 'object')
}

function chunkAddress({ project, name }: KnowledgeBaseName, hit: Hit): string {
  const { id: documentId, chunk_id: chunkId, metadata } = hit
  return addressOf.chunk(project, name, {
    documentId,
    chunkId,
    start: Number(metadata.start_char ?? 0),
    end: Number(metadata.end_char ?? 0),
    column: String(metadata.content_column ?? 'content'),
  })
}

const SCORES: Readonly<Record<Ranking, string>> = {
  vector: 'similarity',
  keyword: 'word score',
  hybrid: 'relevance',
  reranked: 'reranker score',
}

function Score({ hit, ranking }: Pick<SearchHitProps, 'hit' | 'ranking'>) {
  const similarity = hit.distance === null ? null : 1 - hit.distance
  const score = ranking === 'vector' ? similarity : hit.relevance
  if (score === null) return null
  return (
    <span class="small quiet" title={SCORES[ranking]}>
      <span class="visually-hidden">{SCORES[ranking]} </span>
      {score.toFixed(3)}
    </span>
  )
}

const SHORT: Readonly<Record<Ranking, string>> = {
  ...{ vector: 'S', keyword: 'K', hybrid: 'H', reranked: 'R' },
}

/** The ranks of this chunk in the other rankings. */
function OtherRanks(props: {
  readonly hit: Hit
  readonly ranking: Ranking
  readonly comparing: Comparing
}) {
  const {
    hit,
    ranking,
    comparing: { ranks, rankings },
  } = props
  const places = ranks.get(hit.chunk_id) ?? {}
  return (
    <span class="row small quiet">
      {rankings.map((other) => {
        if (other === ranking) return null
        const rank = places[other]
        const words = `${other}: ${rank === undefined ? 'not shown' : `rank ${rank}`}`
        return (
          <span key={other} title={words}>
            <span aria-hidden="true">
              {SHORT[other]}
              {rank ?? '–'}
            </span>
            <span class="visually-hidden">{words}. </span>
          </span>
        )
      })}
    </span>
  )
}

const MARKS = [
  ['Right', '✓', 1],
  ['Wrong', '✗', 0],
] as const

/** Lets users mark its document as right or wrong for the question, for EVALUATE. */
function Marks(props: {
  readonly hit: Hit
  readonly question: string
  readonly comparing: Comparing
}) {
  const {
    hit,
    question,
    comparing: { judging },
  } = props
  if (!judging.canJudge) return null
  const grade = judging.gradeOf(question, hit.id)
  return (
    <>
      <span class="grow" />
      {MARKS.map(([label, sign, value]) => {
        // Judgments from elsewhere may have grades other than 0 and 1.
        const isOn = grade !== undefined && grade > 0 === value > 0
        return (
          <Button
            key={label}
            look="small"
            label={isOn ? `${sign} ${label}` : label}
            aria-pressed={isOn}
            onClick={() => judging.judge(question, hit.id, isOn ? null : value)}
          />
        )
      })}
    </>
  )
}

const AROUND = 2

/** Shows the chunks before and after this one. */
function Neighbours(props: { readonly place: KnowledgeBaseName; readonly chunkId: string }) {
  const { place, chunkId } = props
  const around = useResource(
    async (signal) => {
      // The filter selects the chunk, so the query text does not matter.
      const order = { query: 'text', mode: 'vector', k: 1, rerank: false } as const
      const filters = { chunk_id: chunkId }
      const answer = await search(place, { ...order, neighbours: AROUND, filters }, signal)
      return answer.results[0]?.neighbours ?? { before: [], after: [] }
    },
    [place.project, place.name, chunkId],
  )
  return (
    <Loaded of={around} what="the context">
      {({ before, after }) => {
        if (before.length + after.length === 0) {
          return <p class="small quiet">This chunk is the whole text.</p>
        }
        const named = [
          ...before.map((chunk, index) => [`${before.length - index} before`, chunk] as const),
          ...after.map((chunk, index) => [`${index + 1} after`, chunk] as const),
        ]
        return (
          <dl class="list small">
            {named.map(([label, chunk]) => (
              <div key={label}>
                <dt class="quiet">{label}</dt>
                <dd>{chunk.chunk_content}</dd>
              </div>
            ))}
          </dl>
        )
      }}
    </Loaded>
  )
}

// Selects the part of a chunk that shows why it was found.

interface Excerpt {
  readonly text: string
  readonly ranges: readonly Range[]
  /** Whether the chunk has more text than this. */
  readonly isCut: boolean
}

/** About five lines in a narrow column. */
const CHARS_MAX = 240
/** How much is shown before the first match, so that the part starts at a word or sentence. */
const CHARS_BEFORE = 40

/** Only this much of a longer chunk is shown; its document shows the rest. */
const WHOLE_CHARS_MAX = 20_000

export function wholeOf(text: string, ranges: readonly Range[]): Excerpt {
  if (text.length <= WHOLE_CHARS_MAX) return { text, ranges, isCut: false }
  const end = wholeUntil(text, WHOLE_CHARS_MAX)
  const shown = ranges.filter(([, to = 0]) => to <= end)
  return { text: `${text.slice(0, end)} …`, ranges: shown, isCut: true }
}

/** The first part with the most matching words, or the start of the text if it has as many. */
export function excerptOf(text: string, ranges: readonly Range[], charsMax = CHARS_MAX): Excerpt {
  if (text.length <= charsMax) return { text, ranges, isCut: false }
  const start = startOf(text, ranges, charsMax)
  const end = wholeUntil(text, Math.min(text.length, start + charsMax))
  const before = start === 0 ? '' : '… '
  const shift = before.length - start
  const shown = ranges.flatMap(([from = 0, to = 0]) => {
    return from >= start && to <= end ? [[from + shift, to + shift]] : []
  })
  const after = end === text.length ? '' : ' …'
  return { text: `${before}${text.slice(start, end)}${after}`, ranges: shown, isCut: true }
}

function startOf(text: string, ranges: readonly Range[], charsMax: number): number {
  let best = { start: 0, count: 0 }
  let last = 0
  const firsts = [0, ...ranges.map(([from = 0]) => Math.max(0, from - CHARS_BEFORE))]
  let first = 0
  for (const start of firsts) {
    while (first < ranges.length && (ranges[first]?.[0] ?? 0) < start) first += 1
    while (last < ranges.length && (ranges[last]?.[1] ?? 0) <= start + charsMax) last += 1
    if (last - first > best.count) best = { start, count: last - first }
  }
  // Near the end of the text, more of the text before fits.
  const start = Math.min(best.start, Math.max(0, text.length - charsMax))
  return start === 0 ? 0 : wordStart(text, start)
}

/** The start of the next word, if it is near. */
function wordStart(text: string, from: number): number {
  const space = text.slice(from, from + CHARS_BEFORE).search(/\s/)
  return wholeUntil(text, space === -1 ? from : from + space + 1)
}

/** Avoids splitting a character of two code units. */
function wholeUntil(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at
}

/** Start and end in UTF-16 code units, like in the API. */
type Range = readonly number[]

/** A text with some ranges marked. It is always inserted as text, never as HTML. */
function MarkedText(props: {
  readonly text: string
  /** Ranges in text order. A range that overlaps the previous one is skipped. */
  readonly ranges: readonly Range[]
}) {
  const { text, ranges } = props
  const parts: ComponentChildren[] = []
  let at = 0
  for (const [start = 0, end = 0] of ranges) {
    if (start < at || end <= start || start >= text.length) continue
    parts.push(text.slice(at, start), <mark key={start}>{text.slice(start, end)}</mark>)
    at = end
  }
  return (
    <bdi>
      {parts}
      {text.slice(at)}
    </bdi>
  )
}
