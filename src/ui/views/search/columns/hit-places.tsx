/** Where a chunk stands in the other columns, and what it got. */
import type { SearchHit } from '../../../api/search.ts'
import type { ColumnName, Places } from '../lab-settings.ts'

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

export function HitRanks({ column, places, answered }: HitRanksProps) {
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

export function HitScores({
  hit,
  column,
}: {
  readonly hit: SearchHit
  readonly column: ColumnName
}) {
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
