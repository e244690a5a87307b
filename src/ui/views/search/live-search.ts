/** The answer to the current search. */
import { useRef } from 'preact/hooks'
import {
  type KnowledgeBaseName,
  type SearchAnswer,
  type SearchOrder,
  search,
} from '../../api/knowledge-bases.ts'
import { useResource } from '../../components/resource.ts'

interface Answered {
  readonly answer: SearchAnswer
  /** The search that `answer` belongs to. */
  readonly order: SearchOrder
}

/** The last answer stays until the next one arrives. */
export interface LiveSearch extends Partial<Answered> {
  readonly failure: Error | undefined
  /** Whether the answer to the current search is still missing. */
  readonly isBusy: boolean
  readonly retry: () => void
}

/**
 * @param restMs how long the search must stay unchanged before it is sent; 0 if it costs nothing
 */
export function useLiveSearch(
  place: KnowledgeBaseName,
  order: SearchOrder | null,
  restMs: number,
): LiveSearch {
  const found = useResource(
    async (signal) => {
      if (order === null) return null
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
      signal.throwIfAborted()
      return { answer: await answered(place, order, signal), order }
    },
    [place, order],
  )
  const last = useRef<Answered | null>(null)
  if (found.data !== undefined) last.current = found.data
  if (found.failure !== undefined || order === null) last.current = null
  return {
    ...last.current,
    failure: found.failure,
    isBusy: order !== null && found.isLoading,
    retry: found.reload,
  }
}

/** Not reordered by the model, so it must not be shown as reranked. */
export class NotReranked extends Error {
  override readonly name = 'NotReranked'
}

async function answered(place: KnowledgeBaseName, order: SearchOrder, signal: AbortSignal) {
  const answer = await search(place, order, signal)
  const isOfReranker = (one: string) => one.includes(' was searched without reranking by ')
  const failed = order.rerank === true ? answer.warnings?.find(isOfReranker) : undefined
  if (failed !== undefined) throw new NotReranked(failed)
  return answer
}
