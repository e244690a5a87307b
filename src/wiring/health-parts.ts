import type { ServerDeps } from '../api/http/request/route-context.ts'
import { settlesWithin } from '../core/runtime/cancellation.ts'

interface HealthParts {
  /** Asks the database for next to nothing, apart from what callers run. */
  readonly askDatabase: () => Promise<unknown>
  readonly isDiskFull: () => boolean
  readonly nowMs: () => number
  /** A database that takes longer does not answer. */
  readonly answerMs?: number
}

const ANSWER_MS = 2_000
/** Whoever asks more often gets the answer of before. */
const FRESH_MS = 1_000

/** However often somebody asks, and however long the database takes, it is asked once at a time. */
export function healthOf({
  askDatabase,
  isDiskFull,
  nowMs,
  answerMs = ANSWER_MS,
}: HealthParts): ServerDeps['health'] {
  let asked: Promise<unknown> | null = null
  let answered: { readonly atMs: number; readonly isAlive: boolean } | null = null
  const ask = () => {
    asked ??= askDatabase()
      .then(
        () => true,
        () => false,
      )
      .then((isAlive) => {
        answered = { atMs: nowMs(), isAlive }
        asked = null
        return isAlive
      })
    return asked
  }
  const isAlive = async () => {
    if (answered !== null && nowMs() - answered.atMs < FRESH_MS) return answered.isAlive
    const asking = ask()
    return (await settlesWithin(asking, answerMs)) && (await asking)
  }
  return async () => ({
    database: (await isAlive()) ? 'ok' : 'not answering',
    disk: isDiskFull() ? 'full' : 'ok',
  })
}
