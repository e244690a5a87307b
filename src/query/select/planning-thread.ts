import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { SqlEngine } from '../../core/domain/ports/engine-ports.ts'
import { planSelect } from './plan-select.ts'
import {
  errorOf,
  type FromPlanningThread,
  type PlanRequest,
  planFailure,
  requestScope,
  type ToPlanningThread,
} from './planning-protocol.ts'

/** The thread's side of planning: one statement at a time. The main thread reads and prints SQL for it. */
export class PlanningThread {
  readonly #post: (message: FromPlanningThread) => void
  readonly #calls = new Map<number, PromiseWithResolvers<string>>()
  #snapshot: CatalogSnapshot | null = null
  #lastCall = 0

  constructor(post: (message: FromPlanningThread) => void) {
    this.#post = post
  }

  async receive(message: ToPlanningThread): Promise<void> {
    if (message.kind === 'plan') {
      this.#snapshot = message.snapshot ?? this.#snapshot
      await this.#plan(message.request)
      return
    }
    const call = this.#calls.get(message.call)
    this.#calls.delete(message.call)
    if (message.kind === 'text') call?.resolve(message.text)
    else call?.reject(errorOf(message.failure))
  }

  async #plan(request: PlanRequest): Promise<void> {
    try {
      if (this.#snapshot === null) throw new Error('a plan is made of a catalog')
      const { sql, search } = request
      const names = requestScope(request, this.#snapshot)
      const engine: Pick<SqlEngine, 'parse' | 'print'> = {
        parse: (text) => this.#call('parse', text),
        print: (text) => this.#call('print', text),
      }
      this.#post({ kind: 'planned', plan: await planSelect(sql, names, engine, search) })
    } catch (error) {
      this.#post({ kind: 'failed', failure: planFailure(error) })
    }
  }

  #call(kind: 'parse' | 'print', text: string): Promise<string> {
    this.#lastCall += 1
    const answer = Promise.withResolvers<string>()
    this.#calls.set(this.#lastCall, answer)
    this.#post({ kind, call: this.#lastCall, text })
    return answer.promise
  }
}
