import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { SqlEngine } from '../../core/domain/ports/engine-ports.ts'
import { AppError, shuttingDown } from '../../core/errors.ts'
import { onAbort, withDeadline } from '../../core/runtime/cancellation.ts'
import { Semaphore } from '../../core/runtime/semaphore.ts'
import { WorkerHost } from '../../core/runtime/worker-host.ts'
import type { SelectPlan } from './plan-cache.ts'
import { planSelect } from './plan-select.ts'
import {
  errorOf,
  type FromPlanningThread,
  type PlanRequest,
  planFailure,
  requestScope,
  type ToPlanningThread,
} from './planning-protocol.ts'

/** A longer statement is planned in the worker thread. */
const CHARS_HERE_MAX = 10_000

/**
 * Larger trees, including views and searches, are planned there too. They would take about 10 ms.
 */
const TREE_CHARS_HERE_MAX = 150_000

/** How many statements may wait for the thread. */
const PLANS_WAITING_MAX = 100

/** An idle thread ends after this time, to free its memory. */
const IDLE_MS = 10_000

export interface PlannerOptions {
  readonly engine: Pick<SqlEngine, 'parse' | 'print'>
  readonly workerUrl: string
  readonly planningMs: number
}

/** Large ones in a worker that can be stopped, so that they block nothing. */
export class Planner {
  readonly #options: PlannerOptions
  readonly #turns = new Semaphore({
    placesMax: 1,
    waitingMax: PLANS_WAITING_MAX,
    tooBusy: (waiting) => {
      const message = `More than ${waiting} large SQL statements wait to be planned; try again later`
      return new AppError('too_busy', message)
    },
  })
  #host: WorkerHost | null = null
  #snapshot: CatalogSnapshot | null = null
  #idleTimer: ReturnType<typeof setTimeout> | undefined
  #running: PromiseWithResolvers<SelectPlan> | null = null
  #isClosed = false

  constructor(options: PlannerOptions) {
    this.#options = options
  }

  /** @throws AppError like `planSelect`, or `timeout`, `too_busy`, `shutting_down` */
  async plan(
    request: PlanRequest,
    snapshot: CatalogSnapshot,
    signal: AbortSignal,
  ): Promise<SelectPlan> {
    if (request.sql.length <= CHARS_HERE_MAX) {
      try {
        return await this.#planHere(request, snapshot)
      } catch (error) {
        if (!(error instanceof TooLargeHere)) throw error
      }
    }
    const leave = await this.#turns.enter(signal)
    try {
      return await this.#planInThread(request, snapshot, signal)
    } finally {
      leave()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#running?.reject(shuttingDown())
    await this.#endThread()
  }

  #planHere(request: PlanRequest, snapshot: CatalogSnapshot): Promise<SelectPlan> {
    const { sql, search = null } = request
    const engine = smallTreesOnly(this.#options.engine)
    return planSelect(sql, requestScope(request, snapshot), engine, search)
  }

  async #planInThread(
    request: PlanRequest,
    snapshot: CatalogSnapshot,
    signal: AbortSignal,
  ): Promise<SelectPlan> {
    if (this.#isClosed) throw shuttingDown()
    clearTimeout(this.#idleTimer)
    const { planningMs: timeoutMs } = this.#options
    try {
      return await withDeadline({ timeoutMs, signal, timeoutError }, (ended) => {
        return this.#ask(request, snapshot, ended)
      })
    } finally {
      this.#idleTimer = setTimeout(() => void this.#endThread(), IDLE_MS)
      this.#idleTimer.unref()
    }
  }

  /** @param ended aborting it ends the thread, even while it plans */
  async #ask(
    request: PlanRequest,
    snapshot: CatalogSnapshot,
    ended: AbortSignal,
  ): Promise<SelectPlan> {
    const running = Promise.withResolvers<SelectPlan>()
    this.#running = running
    const stopListening = onAbort(ended, () => {
      running.reject(ended.reason)
      void this.#endThread()
    })
    try {
      const host = this.#runningHost(running)
      const isKnown = this.#snapshot === snapshot
      this.#snapshot = snapshot
      const message: ToPlanningThread = {
        kind: 'plan',
        request,
        snapshot: isKnown ? null : snapshot,
      }
      host.setBusy(true)
      host.post(message)
      return await running.promise
    } finally {
      stopListening()
      this.#running = null
      this.#host?.setBusy(false)
    }
  }

  #runningHost(running: PromiseWithResolvers<SelectPlan>): WorkerHost {
    if (this.#host !== null && !this.#host.hasEnded) return this.#host
    this.#snapshot = null
    const host: WorkerHost = new WorkerHost({
      url: this.#options.workerUrl,
      // The thread runs only this program's code, so the type is right.
      onMessage: (data) => void this.#receive(host, data as FromPlanningThread),
      onEnd: (cause) => {
        const message = 'Planning the statement stopped unexpectedly'
        const error = new AppError('internal', message, { cause })
        this.#running?.reject(error)
        running.reject(error)
      },
    })
    this.#host = host
    return host
  }

  async #receive(host: WorkerHost, message: FromPlanningThread): Promise<void> {
    switch (message.kind) {
      case 'planned':
        this.#running?.resolve(message.plan)
        return
      case 'failed':
        this.#running?.reject(errorOf(message.failure))
        return
      case 'parse':
      case 'print':
        host.post(await this.#answer(message))
    }
  }

  async #answer({
    kind,
    call,
    text,
  }: Extract<FromPlanningThread, { kind: 'parse' | 'print' }>): Promise<ToPlanningThread> {
    const { engine } = this.#options
    try {
      return { kind: 'text', call, text: await engine[kind](text) }
    } catch (error) {
      return { kind: 'refused', call, failure: planFailure(error) }
    }
  }

  async #endThread(): Promise<void> {
    clearTimeout(this.#idleTimer)
    const host = this.#host
    this.#host = null
    this.#snapshot = null
    await host?.terminate()
  }
}

function timeoutError(ms: number): AppError {
  const limit = `Planning the statement took longer than its limit of ${ms} ms`
  return new AppError('timeout', `${limit}; send long lists as parameters, or less at once`)
}

/** Thrown if the statement must be planned in the worker thread. */
class TooLargeHere extends Error {}

/** @throws TooLargeHere when the trees together become too large */
function smallTreesOnly(engine: PlannerOptions['engine']): PlannerOptions['engine'] {
  let chars = 0
  return {
    async parse(sql) {
      const tree = await engine.parse(sql)
      chars += tree.length
      if (chars > TREE_CHARS_HERE_MAX) throw new TooLargeHere()
      return tree
    },
    print: (tree) => engine.print(tree),
  }
}
