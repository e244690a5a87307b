/** The answer to the current search. An older answer never replaces a newer one. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { reconnections } from '../../api/connection.ts'
import {
  type KnowledgeBaseName,
  type SearchAnswer,
  type SearchOrder,
  search,
} from '../../api/knowledge-bases.ts'
import { asError } from '../../api/request.ts'

export interface LiveSearch {
  /** The last answer; it stays until the next one arrives. */
  readonly answer?: SearchAnswer | undefined
  /** The search that `answer` belongs to. */
  readonly order?: SearchOrder | undefined
  readonly failure?: Error | undefined
  /** Whether the answer to the current search is still missing. */
  readonly isBusy: boolean
  readonly retry: () => void
}

/** If shorter, each search would abort the previous one on a slow server. */
const PATIENCE_MS = 1000

/**
 * @param restMs how long the search must stay unchanged before it is sent; 0 if it costs nothing
 */
export function useLiveSearch(
  place: KnowledgeBaseName,
  order: SearchOrder | null,
  restMs: number,
): LiveSearch {
  const [state, setState] = useState<Omit<LiveSearch, 'retry'>>({ isBusy: false })
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
      setState({ isBusy: false })
    }
  }, [place.project, place.name])
  return { ...state, retry: () => setTurn((before) => before + 1) }
}

/** Not reordered by the model, so it must not be shown as reranked. */
export class NotReranked extends Error {
  override readonly name = 'NotReranked'
}

async function answered(place: KnowledgeBaseName, order: SearchOrder, signal: AbortSignal) {
  try {
    const answer = await search(place, order, signal)
    const isOfReranker = (one: string) => one.includes(' was searched without reranking by ')
    const failed = order.rerank === true ? answer.warnings?.find(isOfReranker) : undefined
    return failed === undefined ? { answer } : { failure: new NotReranked(failed) }
  } catch (error) {
    return { failure: asError(error) }
  }
}

type Task = (signal: AbortSignal) => Promise<void>

/** Meanwhile only the newest waits. If a task takes long, a newer one aborts it. */
export class LatestOnly {
  readonly #patienceMs: number
  #running: AbortController | undefined
  #next: Task | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param patienceMs how long a newer task waits before it aborts the running one */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
  }

  /** @param task must not throw */
  run(task: Task): void {
    if (this.#running === undefined) {
      this.#start(task)
      return
    }
    this.#next = task
    this.#timer ??= setTimeout(() => this.#giveUp(), this.#patienceMs)
  }

  stop(): void {
    this.#next = undefined
    this.#giveUp()
  }

  #start(task: Task): void {
    const running = new AbortController()
    this.#running = running
    task(running.signal).finally(() => this.#ended(running))
  }

  #giveUp(): void {
    const running = this.#running
    if (running === undefined) return
    running.abort(new DOMException('Another search', 'AbortError'))
    this.#ended(running)
  }

  #ended(running: AbortController): void {
    if (this.#running !== running) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running = undefined
    const next = this.#next
    this.#next = undefined
    if (next !== undefined) this.#start(next)
  }
}
