/** The answer to what is searched now. An older answer never takes the place of a newer one. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { reconnections } from '../../../api/connection.ts'
import { type SearchAnswer, type SearchOrder, search } from '../../../api/knowledge-bases.ts'
import { asError } from '../../../api/request.ts'
import type { ColumnName } from './lab-settings.ts'
import { LatestOnly } from './latest-only.ts'

interface ColumnState {
  /** What was found last; it stays until the next answer is there. */
  readonly answer?: SearchAnswer | undefined
  /** The search that was answered. */
  readonly order?: SearchOrder | undefined
  readonly failure?: Error | undefined
  /** The answer to what is searched now is still to come. */
  readonly isBusy: boolean
  readonly retry: () => void
}

export type ColumnStates = Readonly<Record<ColumnName, ColumnState>>

interface Place {
  readonly project: string
  readonly name: string
}

/** Shorter, and a slow server would show nothing while somebody types or moves the slider: each would give up the one before. */
const PATIENCE_MS = 1000

/** @param restMs for which the order has to stay the same before it is sent: 0 where an answer costs nothing */
export function useColumnSearch(
  place: Place,
  order: SearchOrder | null,
  restMs: number,
): ColumnState {
  const [state, setState] = useState<Omit<ColumnState, 'retry'>>({ isBusy: false })
  const [turn, setTurn] = useState(0)
  const [searches] = useState(() => new LatestOnly(PATIENCE_MS))
  const wanted = useRef('')
  const key = order === null ? '' : JSON.stringify([order, place, turn])
  wanted.current = key
  const back = reconnections.value
  useEffect(() => {
    if (order === null) {
      searches.stop()
      setState({ isBusy: false })
      return
    }
    setState((before) => (before.isBusy ? before : { ...before, isBusy: true }))
    const task = async (signal: AbortSignal) => {
      const next = await answered(place, order, signal)
      if (!signal.aborted) setState({ ...next, order, isBusy: wanted.current !== key })
    }
    if (restMs === 0) {
      searches.run(task)
      return
    }
    const timer = setTimeout(() => searches.run(task), restMs)
    return () => clearTimeout(timer)
  }, [key, restMs, back])
  useEffect(() => {
    return () => {
      searches.stop()
      // What was found in one knowledge base is nothing of another.
      setState({ isBusy: false })
    }
  }, [place.project, place.name])
  return { ...state, retry: () => setTurn((before) => before + 1) }
}

/** The order is the one without the reranking model: shown as reranked it would say something false. */
export class NotReranked extends Error {
  override readonly name = 'NotReranked'
}

/** As the server says it. */
function isOfReranker(warning: string): boolean {
  return warning.includes(' was searched without reranking by ')
}

async function answered(place: Place, order: SearchOrder, signal: AbortSignal) {
  try {
    const answer = await search(place, order, signal)
    const failed = order.rerank === true ? answer.warnings?.find(isOfReranker) : undefined
    return failed === undefined ? { answer } : { failure: new NotReranked(failed) }
  } catch (error) {
    return { failure: asError(error) }
  }
}

/** A value once it has rested. */
export function useRested<T>(value: T, ms: number): T {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested
}
