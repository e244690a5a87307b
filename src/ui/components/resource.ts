/**
 * Data that a view loads from the server: when it is shown, when its keys change, and when the
 * server comes back. Also runs the actions of buttons.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { isLost, reconnections } from '../api/connection.ts'
import { asError, request } from '../api/request.ts'

export interface Resource<T> {
  /** The last data; it stays during a reload. */
  readonly data: T | undefined
  readonly failure: Error | undefined
  readonly isLoading: boolean
  /** Follows a running load, so that frequent reloads never abort one about to finish. */
  readonly reload: () => void
}

/**
 * @param load aborts on close or new `keys` @param keys on change, `data` is undefined
 * @param changes when one changes, loads again, but `data` stays until then
 */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  changes: readonly unknown[] = [],
): Resource<T> {
  const key = JSON.stringify(keys)
  const latest = useRef(load)
  latest.current = load
  const [turn, setTurn] = useState(0)
  const [state, setState] = useState<{ key: string; data?: T; failure?: Error; done: boolean }>({
    key,
    done: false,
  })
  const isUnderWay = useRef(false)
  const isWantedAgain = useRef(false)
  const reload = useCallback(() => {
    if (isUnderWay.current) isWantedAgain.current = true
    else setTurn((before) => before + 1)
  }, [])
  const back = reconnections.value
  useEffect(() => {
    const abort = new AbortController()
    const over = () => {
      isUnderWay.current = false
      if (isWantedAgain.current) reload()
    }
    isUnderWay.current = true
    isWantedAgain.current = false
    setState((before) => (before.key === key ? { ...before, done: false } : { key, done: false }))
    latest.current(abort.signal).then(
      (data) => {
        if (abort.signal.aborted) return
        setState({ key, done: true, data })
        over()
      },
      (error: unknown) => {
        if (abort.signal.aborted) return
        const failure = asError(error)
        setState((before) => ({ ...before, done: true, failure }))
        over()
      },
    )
    return () => abort.abort(new DOMException('The view went', 'AbortError'))
  }, [key, turn, back])
  const isFirst = useRef(true)
  useEffect(() => {
    if (!isFirst.current) reload()
    isFirst.current = false
  }, changes)
  const isCurrent = state.key === key
  return {
    data: isCurrent ? state.data : undefined,
    failure: isCurrent ? state.failure : undefined,
    isLoading: !isCurrent || !state.done,
    reload,
  }
}

const ITEMS_AT_FIRST = 50
/** One request lists no more. */
const ITEMS_MAX = 1000

/** A list that can be made longer. What is shown stays until the longer list has arrived. */
export function useLongList<T extends { readonly next: unknown }>(
  load: (limit: number, signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[] = [],
  changes: readonly unknown[] = [],
): Resource<T> & { readonly showMore: (() => void) | undefined } {
  const [limit, setLimit] = useState(ITEMS_AT_FIRST)
  const list = useResource((signal) => load(limit, signal), keys, [limit, ...changes])
  const hasMore = Boolean(list.data?.next) && limit < ITEMS_MAX
  const showMore = () => setLimit(Math.min(4 * limit, ITEMS_MAX))
  return { ...list, showMore: hasMore ? showMore : undefined }
}

export interface Action {
  /** Calls in the meantime do nothing. @returns success; the error is in `failure` */
  readonly act: (work: () => Promise<unknown>) => Promise<boolean>
  readonly failure: Error | undefined
  /** For `aria-disabled`: a button that becomes `disabled` would lose the focus. */
  readonly isBusy: boolean
}

export function useAction(): Action {
  const [failure, setFailure] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const isUnderWay = useRef(false)
  const act = async (work: () => Promise<unknown>) => {
    if (isUnderWay.current) return false
    isUnderWay.current = true
    setIsBusy(true)
    setFailure(undefined)
    try {
      await work()
      return true
    } catch (error) {
      setFailure(asError(error))
      return false
    } finally {
      isUnderWay.current = false
      setIsBusy(false)
    }
  }
  return { act, failure, isBusy }
}

/** How often views look again: while something runs, while something may start, otherwise. */
const PACES = { soon: 1000, often: 3000, seldom: 15_000 } as const

/** While the window is visible and the server answers. A missed call is made up for. */
export function usePolling(tick: () => void, pace: keyof typeof PACES): void {
  const ms = PACES[pace]
  const latest = useRef(tick)
  latest.current = tick
  useEffect(() => {
    let isMissed = false
    const timer = setInterval(() => {
      isMissed = document.hidden
      if (!document.hidden && !isLost.peek()) latest.current()
    }, ms)
    const look = () => {
      if (!isMissed || document.hidden || isLost.peek()) return
      isMissed = false
      latest.current()
    }
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [ms])
}

export function useRequest<T>(address: string): Resource<T> {
  return useResource((signal) => request<T>(address, { signal }), [address])
}
