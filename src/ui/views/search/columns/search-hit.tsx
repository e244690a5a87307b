/** One chunk that was found: its places, its scores, its text with the words that matched, and what can be done with it. */
import { useMemo, useRef, useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { SearchHit as Hit } from '../../../api/search.ts'
import { Button } from '../../../components/button.tsx'
import { MarkedText } from '../../../components/marked-text.tsx'
import { addressOf } from '../../../shell/addresses.ts'
import type { Judged } from '../judgments/judgments.ts'
import type { ColumnName, Places } from '../lab-settings.ts'
import { excerptOf, wholeOf } from './excerpt.ts'
import { HitNeighbours } from './hit-neighbours.tsx'
import { HitRanks, HitScores } from './hit-places.tsx'
import { HitValues, hasMoreValues } from './hit-values.tsx'

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
