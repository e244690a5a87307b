/** One chunk that was found: its places, its scores, its text with the words that matched, and what can be done with it. */
import { useMemo, useRef, useState } from 'preact/hooks'
import {
  type SearchHit as Hit,
  type KnowledgeBaseName,
  search,
} from '../../../api/knowledge-bases.ts'
import { Button } from '../../../components/button.tsx'
import { Failure, Loading } from '../../../components/failure.tsx'
import { MarkedText } from '../../../components/marked-text.tsx'
import { useResource } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import type { Judged } from '../judgments/judgments.ts'
import { excerptOf, wholeOf } from './excerpt.ts'
import { HitValues, hasMoreValues } from './hit-values.tsx'
import type { ColumnName, Places } from './lab-settings.ts'

export interface HitActions {
  readonly onFilter: (column: string, value: unknown, isItem: boolean) => void
  readonly onLookAt: (chunkId: string | null) => void
  readonly onJudge: (question: string, document: string, grade: number | null) => void
}

interface SearchHitProps {
  readonly hit: Hit
  /** The text that found it. */
  readonly question: string
  readonly column: ColumnName
  readonly place: KnowledgeBaseName
  readonly places: Places
  readonly answered: readonly ColumnName[]
  readonly isLookedAt: boolean
  readonly grade: Judged['grade'] | undefined
  readonly actions: HitActions
}

export function SearchHit(props: SearchHitProps) {
  const { hit, isLookedAt, places, answered, question, grade, column } = props
  const latest = useRef(props)
  latest.current = props
  const look = () => props.actions.onLookAt(hit.chunk_id)
  // With each key that is typed some forty hits are drawn again: most of each stays as it is.
  const content = useMemo(
    () => <HitContent {...latest.current} />,
    [hit, question, grade, column, JSON.stringify([places, answered])],
  )
  return (
    <li
      class={`search-hit ${isLookedAt ? 'looked-at' : ''}`}
      onMouseEnter={look}
      onMouseLeave={() => props.actions.onLookAt(null)}
      onFocusCapture={look}
    >
      {content}
    </li>
  )
}

/** What its document is called, as in the list of documents. */
function nameOf({ id, metadata }: Hit): string {
  const { title } = metadata
  return typeof title === 'string' && title !== '' ? title : id
}

function HitContent(props: SearchHitProps) {
  const { hit, question, column, place, places, answered, grade, actions } = props
  const [isWhole, setIsWhole] = useState(false)
  const [isAround, setIsAround] = useState(false)
  const excerpt = useMemo(() => excerptOf(hit.chunk_content, hit.highlights ?? []), [hit])
  const shown = isWhole ? wholeOf(hit.chunk_content, hit.highlights ?? []) : excerpt
  const isCut = excerpt.isCut || hit.chunk_content.includes('\n')
  const canGrow = isCut || hasMoreValues(hit.metadata)
  const judge = (mark: 'right' | 'wrong', next: number) => {
    actions.onJudge(question, hit.id, markOf(grade) === mark ? null : next)
  }
  return (
    <>
      <div class="search-hit-head">
        <strong>{hit.rank}</strong>
        <a
          class="one-line"
          href={chunkAddress(place, hit)}
          dir="auto"
          title={`Open in its document: ${hit.id}`}
        >
          {nameOf(hit)}
        </a>
        <HitRanks column={column} places={places} answered={answered} />
      </div>
      <HitScores hit={hit} column={column} />
      <p class={`search-hit-text ${isWhole ? '' : 'cut'}`}>
        <MarkedText text={shown.text} ranges={shown.ranges} />
      </p>
      <HitValues metadata={hit.metadata} isWhole={isWhole} onFilter={actions.onFilter} />
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
          label="Around it"
          aria-expanded={isAround}
          onClick={() => setIsAround(!isAround)}
        />
        <span class="grow" />
        <Mark
          label="Right"
          sign="✓"
          isOn={markOf(grade) === 'right'}
          onClick={() => judge('right', 1)}
        />
        <Mark
          label="Wrong"
          sign="✗"
          isOn={markOf(grade) === 'wrong'}
          onClick={() => judge('wrong', 0)}
        />
      </div>
      {isAround && <HitNeighbours place={place} chunkId={hit.chunk_id} />}
    </>
  )
}

interface MarkProps {
  readonly label: string
  readonly sign: string
  readonly isOn: boolean
  readonly onClick: () => void
}

function Mark({ label, sign, isOn, onClick }: MarkProps) {
  return (
    <Button
      look="small"
      label={isOn ? `${sign} ${label}` : label}
      aria-pressed={isOn}
      onClick={onClick}
    />
  )
}

/** Imported judgments may have more grades than one. */
function markOf(grade: Judged['grade'] | undefined): 'right' | 'wrong' | null {
  if (grade === null || grade === undefined) return null
  return grade > 0 ? 'right' : 'wrong'
}

function chunkAddress(
  { project, name }: KnowledgeBaseName,
  { id, chunk_id: chunkId, metadata }: Hit,
): string {
  return addressOf.chunk(project, name, {
    documentId: id,
    start: Number(metadata.start_char ?? 0),
    end: Number(metadata.end_char ?? 0),
    column: String(metadata.content_column ?? 'content'),
    chunkId,
  })
}

interface HitNeighboursProps {
  readonly place: KnowledgeBaseName
  readonly chunkId: string
}

/** How many on each side: first, and with each click; the last is what the API gives at most. */
const COUNTS = [1, 3, 10]

/** What stands before and after a chunk, when it is asked for. */
function HitNeighbours({ place, chunkId }: HitNeighboursProps) {
  const [step, setStep] = useState(0)
  const count = COUNTS[step] ?? 1
  const { data, failure, isLoading, reload } = useResource(
    async (signal) => {
      // The filter says which chunk is meant: any text finds it.
      const order = { query: 'text', mode: 'vector', k: 1, rerank: false } as const
      const filters = { chunk_id: chunkId }
      const answer = await search(place, { ...order, neighbours: count, filters }, signal)
      return answer.results[0]?.neighbours ?? { before: [], after: [] }
    },
    [place.project, place.name, chunkId, count],
  )
  if (failure) return <Failure error={failure} onRetry={reload} />
  if (isLoading || data === undefined) return <Loading what="what stands around it" />
  const { before, after } = data
  if (before.length + after.length === 0) {
    return <p class="small quiet">This chunk is all of its text.</p>
  }
  const hasMore = before.length === count || after.length === count
  return (
    <div class="stack small">
      <dl class="search-neighbours">
        {before.map((one, index) => (
          <Neighbour key={one.chunk_id} label={`${before.length - index} before`} chunk={one} />
        ))}
        {after.map((one, index) => (
          <Neighbour key={one.chunk_id} label={`${index + 1} after`} chunk={one} />
        ))}
      </dl>
      {hasMore && step < COUNTS.length - 1 && (
        <Button look="small" label="Show more around it" onClick={() => setStep(step + 1)} />
      )}
    </div>
  )
}

interface NeighbourProps {
  readonly label: string
  readonly chunk: { readonly chunk_content: string }
}

function Neighbour({ label, chunk }: NeighbourProps) {
  return (
    <div>
      <dt class="quiet">{label}</dt>
      <dd dir="auto">{chunk.chunk_content}</dd>
    </div>
  )
}

/** Where a chunk stands in the other columns, and what it got. */
const SHORT: Readonly<Record<ColumnName, string>> = {
  vector: 'V',
  keyword: 'K',
  hybrid: 'H',
  reranked: 'R',
}

interface HitRanksProps {
  readonly column: ColumnName
  readonly places: Places
  /** The columns that have an answer. */
  readonly answered: readonly ColumnName[]
}

function HitRanks({ column, places, answered }: HitRanksProps) {
  const mine = places[column] ?? 0
  return (
    <span class="search-ranks small">
      {answered.map((other) => {
        if (other === column) return null
        const rank = places[other]
        const moved = rank === undefined ? '' : rank === mine ? '=' : rank < mine ? '↑' : '↓'
        const inWords = rank === undefined ? 'not among those shown' : `rank ${rank}`
        return (
          <span
            key={other}
            class={rank === undefined ? 'quiet' : ''}
            title={`In the column ${other}: ${inWords}`}
          >
            <span aria-hidden="true">
              {SHORT[other]}
              {rank ?? '–'}
              {moved}
            </span>
            <span class="visually-hidden">
              {other} {inWords}{' '}
            </span>
          </span>
        )
      })}
    </span>
  )
}

const SCORES: Readonly<Record<ColumnName, string>> = {
  vector: 'similarity',
  keyword: 'words',
  hybrid: 'relevance',
  reranked: 'reranker',
}

function HitScores({ hit, column }: { readonly hit: Hit; readonly column: ColumnName }) {
  const similarity = hit.distance === null ? null : 1 - hit.distance
  const score = column === 'vector' ? similarity : hit.relevance
  return (
    <div class="search-scores small quiet">
      <span>
        {SCORES[column]} {score === null ? '–' : score.toFixed(3)}
      </span>
      <span class="search-bar" aria-hidden="true">
        <span style={{ width: `${Math.round(100 * Math.max(0, Math.min(1, score ?? 0)))}%` }} />
      </span>
      {hit.distance !== null && <span>distance {hit.distance.toFixed(3)}</span>}
    </div>
  )
}
