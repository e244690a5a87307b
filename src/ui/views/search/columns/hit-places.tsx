/** Where a chunk stands in the other columns, and what it got. */
import type { SearchHit } from '../../../api/search.ts'
import { COLUMNS, type ColumnName, type Places } from '../lab-settings.ts'

const SHORT: Readonly<Record<ColumnName, string>> = {
  vector: 'V',
  keyword: 'K',
  hybrid: 'H',
  reranked: 'R',
}

interface HitRanksProps {
  readonly column: ColumnName
  readonly places: Places
}

export function HitRanks({ column, places: of }: HitRanksProps) {
  const mine = of[column] ?? 0
  return (
    <span class="search-ranks small">
      {COLUMNS.filter((other) => other !== column && of[other] !== undefined).map((other) => {
        const rank = of[other] ?? 0
        const moved = rank === mine ? '=' : rank < mine ? '↑' : '↓'
        return (
          <span key={other} title={`Rank ${rank} in the column ${other}`}>
            <span aria-hidden="true">
              {SHORT[other]}
              {rank}
              {moved}
            </span>
            <span class="visually-hidden">
              {other} {rank}{' '}
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
