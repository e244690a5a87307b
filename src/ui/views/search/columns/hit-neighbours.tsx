/** What stands before and after a chunk, when it is asked for. */
import { useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { search } from '../../../api/search.ts'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'

interface HitNeighboursProps {
  readonly place: KnowledgeBaseName
  readonly chunkId: string
}

/** How many on each side: first, and with each click; the last is what the API gives at most. */
const COUNTS = [1, 3, 10]

export function HitNeighbours({ place, chunkId }: HitNeighboursProps) {
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
