/** One chunk that was found: its places, its scores, its text with the words that matched, and what can be done with it. */

import { useState } from 'preact/hooks'
import { type SearchHit as Hit, type SearchOrder, search } from '../../../api/search.ts'
import { Failure } from '../../../components/failure.tsx'
import { MarkedText } from '../../../components/marked-text.tsx'
import { useAction } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'
import type { Judged } from '../judgments/judgments.ts'
import type { ColumnName, Ranks } from '../lab-settings.ts'
import { HitRanks, HitScores } from './hit-places.tsx'
import { HitValues } from './hit-values.tsx'

export interface HitActions {
  readonly onFilter: (column: string, value: unknown, isItem: boolean) => void
  readonly onLookAt: (chunkId: string | null) => void
  readonly onJudge: (documentId: string, grade: number | null) => void
  readonly gradeOf: (documentId: string) => Judged['grade'] | undefined
}

interface SearchHitProps {
  readonly hit: Hit
  readonly column: ColumnName
  readonly place: KnowledgeBaseAddress
  readonly order: SearchOrder
  readonly ranks: Ranks
  readonly isLookedAt: boolean
  readonly actions: HitActions
}

export function SearchHit(props: SearchHitProps) {
  const { hit, column, place, order, ranks, isLookedAt, actions } = props
  const [isWhole, setIsWhole] = useState(false)
  const look = () => actions.onLookAt(hit.chunk_id)
  const grade = actions.gradeOf(hit.id)
  const judge = (next: number) => actions.onJudge(hit.id, grade === next ? null : next)
  const chunk = addressOf.chunk(place.project, place.name, {
    documentId: hit.id,
    start: Number(hit.metadata.start_char ?? 0),
    end: Number(hit.metadata.end_char ?? 0),
    column: String(hit.metadata.content_column ?? 'content'),
  })
  return (
    <li
      class={`search-hit ${isLookedAt ? 'looked-at' : ''}`}
      onMouseEnter={look}
      onMouseLeave={() => actions.onLookAt(null)}
      onFocusCapture={look}
    >
      <div class="search-hit-head">
        <strong>{hit.rank}</strong>
        <a class="one-line" href={chunk} dir="auto" title="Open in its document">
          {hit.id}
        </a>
        <HitRanks column={column} chunkId={hit.chunk_id} ranks={ranks} />
      </div>
      <HitScores hit={hit} column={column} />
      <p class={`search-hit-text ${isWhole ? '' : 'cut'}`}>
        <MarkedText text={hit.chunk_content} ranges={hit.highlights ?? []} />
      </p>
      <HitValues metadata={hit.metadata} onFilter={actions.onFilter} />
      <div class="row">
        <button
          type="button"
          class="button small quiet"
          aria-expanded={isWhole}
          onClick={() => setIsWhole(!isWhole)}
        >
          {isWhole ? 'Less' : 'More'}
        </button>
        <span class="grow" />
        <button
          type="button"
          class="button small"
          aria-pressed={grade === 1}
          onClick={() => judge(1)}
        >
          {grade === 1 ? '✓ Right' : 'Right'}
        </button>
        <button
          type="button"
          class="button small"
          aria-pressed={grade === 0}
          onClick={() => judge(0)}
        >
          {grade === 0 ? '✗ Wrong' : 'Wrong'}
        </button>
      </div>
      {isWhole && <Neighbours place={place} order={order} chunkId={hit.chunk_id} />}
    </li>
  )
}

interface NeighboursProps {
  readonly place: KnowledgeBaseAddress
  readonly order: SearchOrder
  readonly chunkId: string
}

/** What stands before and after the chunk, when it is asked for. */
function Neighbours({ place, order, chunkId }: NeighboursProps) {
  const [around, setAround] = useState<Hit['neighbours']>()
  const { act, failure } = useAction()
  const load = async () => {
    await act(async () => {
      const near = {
        query: order.query,
        mode: 'vector',
        neighbours: 1,
        k: 1,
        rerank: false,
      } as const
      const answer = await search(place, { ...near, filters: { chunk_id: chunkId } })
      setAround(answer.results[0]?.neighbours ?? { before: [], after: [] })
    })
  }
  if (failure) return <Failure error={failure} onRetry={load} />
  if (around === undefined) {
    return (
      <button type="button" class="button small" onClick={load}>
        Show what stands before and after
      </button>
    )
  }
  const chunks = [
    ...around.before.map((one) => ({ ...one, label: 'Before' })),
    ...around.after.map((one) => ({ ...one, label: 'After' })),
  ]
  if (chunks.length === 0) return <p class="small quiet">This chunk is all of its text.</p>
  return (
    <dl class="search-neighbours small">
      {chunks.map(({ label, chunk_id: id, chunk_content: content }) => (
        <div key={id}>
          <dt class="quiet">{label}</dt>
          <dd dir="auto">{content}</dd>
        </div>
      ))}
    </dl>
  )
}
