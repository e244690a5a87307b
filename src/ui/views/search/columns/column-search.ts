/** The answer to what is searched now; an answer that comes late is never shown. */

import { useEffect, useState } from 'preact/hooks'
import { reconnections } from '../../../api/connection.ts'
import { asError } from '../../../api/request.ts'
import { type SearchAnswer, type SearchOrder, search } from '../../../api/search.ts'

export interface ColumnState {
  /** What was found last; it stays until the next answer is there. */
  readonly answer?: SearchAnswer | undefined
  /** The search that was answered. */
  readonly order?: SearchOrder | undefined
  readonly failure?: Error | undefined
  readonly isBusy: boolean
}

interface Place {
  readonly project: string
  readonly name: string
}

export function useColumnSearch(place: Place, order: SearchOrder | null): ColumnState {
  const [state, setState] = useState<ColumnState>({ isBusy: false })
  const key = order === null ? '' : JSON.stringify(order)
  const back = reconnections.value
  useEffect(() => {
    if (order === null) {
      setState({ isBusy: false })
      return
    }
    const abort = new AbortController()
    setState((before) => ({ ...before, isBusy: true }))
    search(place, order, abort.signal).then(
      (answer) => {
        if (!abort.signal.aborted) setState({ answer, order, isBusy: false })
      },
      (error: unknown) => {
        if (abort.signal.aborted) return
        const failure = asError(error)
        setState({ failure, isBusy: false })
      },
    )
    return () => abort.abort(new DOMException('Another search', 'AbortError'))
  }, [key, place.project, place.name, back])
  return state
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
