import type { Job, JobProgress } from '../../core/domain/flow/job.ts'

/** How far back the rate looks. */
const WINDOW_MS = 30_000
/** Before that nothing is said. */
const SHORTEST_MS = 500

interface Sample {
  readonly atMs: number
  readonly rows: number
}

/** How fast one job is, from what it stored of late. */
export class JobPace {
  #samples: readonly Sample[]

  constructor({ rows }: JobProgress, nowMs: number) {
    this.#samples = [{ rows, atMs: nowMs }]
  }

  note({ rows }: JobProgress, nowMs: number): void {
    const last = this.#samples.at(-1)
    // Some samples a second are enough.
    if (last !== undefined && this.#samples.length > 1 && nowMs - last.atMs < SHORTEST_MS) {
      this.#samples = this.#samples.with(-1, { rows, atMs: last.atMs })
      return
    }
    const recent = this.#samples.filter(({ atMs }, index) => {
      // One from before the window is where it begins.
      const next = this.#samples[index + 1]
      return atMs >= nowMs - WINDOW_MS || (next !== undefined && next.atMs >= nowMs - WINDOW_MS)
    })
    this.#samples = [
      ...(recent.length === 0 ? this.#samples.slice(-1) : recent),
      { rows, atMs: nowMs },
    ]
  }

  of({ rows, total }: JobProgress, nowMs: number): Pick<Job, 'rate' | 'remainingSeconds'> {
    const first = this.#samples[0]
    if (first === undefined || nowMs - first.atMs < SHORTEST_MS || rows <= first.rows) {
      return { rate: null, remainingSeconds: null }
    }
    const rate = ((rows - first.rows) * 1000) / (nowMs - first.atMs)
    const remainingSeconds = total === null ? null : Math.ceil(Math.max(0, total - rows) / rate)
    return { rate: Math.round(rate * 10) / 10, remainingSeconds }
  }
}
