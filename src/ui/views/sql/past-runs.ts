/** What was run in this browser, the last one first. */
import { signal } from '@preact/signals'
import { remember, remembered } from '../../components/browser-storage.ts'
import type { Parameters } from './parameters.ts'

const KEY = 'eider.sql.history'
const RUNS_MAX = 300
/** A browser gives a site some 5,000,000 characters: the statements at hand need them, too. */
const CHARS_MAX = 1_000_000
const RUN_CHARS_MAX = 100_000

export interface PastRun {
  readonly sql: string
  readonly project: string
  readonly params: Parameters
  readonly atMs: number
  readonly ms: number
  /** null: it failed, or was cancelled. */
  readonly rows: number | null
}

export const pastRuns = signal<readonly PastRun[]>(stored())

window.addEventListener('storage', ({ key }) => {
  if (key === KEY || key === null) pastRuns.value = stored()
})

export function noteRun(run: PastRun): void {
  // Read again: another window may have run something since.
  const others = stored().filter(({ sql, project }) => sql !== run.sql || project !== run.project)
  keep([run, ...others])
}

export function forgetRuns(gone: (run: PastRun) => boolean): void {
  keep(stored().filter((run) => !gone(run)))
}

function keep(runs: readonly PastRun[]): void {
  let chars = 0
  const kept = runs.slice(0, RUNS_MAX).filter(({ sql }) => {
    // A text that would leave no room for others stands in its tab.
    if (sql.length > RUN_CHARS_MAX) return false
    chars += sql.length
    return chars <= CHARS_MAX
  })
  remember(KEY, JSON.stringify(kept))
  pastRuns.value = kept
}

function stored(): readonly PastRun[] {
  try {
    const value: unknown = JSON.parse(remembered(KEY) ?? '[]')
    // Nobody but this page writes it.
    return Array.isArray(value) ? (value as readonly PastRun[]) : []
  } catch {
    return []
  }
}

/**
 * What this window showed the rows of, tab by tab, so that a reload brings them back: by running again what only reads.
 * The rows themselves are not kept: somebody else may sit here after a sign-out.
 */
const LAST_RUNS_KEY = 'eider.sql.ran.'

interface LastRun {
  readonly sql: string
  readonly project: string
  /** Where it began in the text of the editor. */
  readonly offset: number
  readonly ms: number
  /** With which parameters; missing: an earlier page kept none. */
  readonly typed?: Parameters
}

export function rememberLastRun(tabId: string, run: LastRun): void {
  try {
    sessionStorage.setItem(`${LAST_RUNS_KEY}${tabId}`, JSON.stringify(run))
  } catch {
    // It is run by hand, as in a browser that keeps nothing.
  }
}

export function forgetLastRun(tabId: string): void {
  try {
    sessionStorage.removeItem(`${LAST_RUNS_KEY}${tabId}`)
  } catch {
    // As above.
  }
}

export function lastRunOf(tabId: string): LastRun | undefined {
  try {
    const text = sessionStorage.getItem(`${LAST_RUNS_KEY}${tabId}`)
    // Nobody but this page writes it.
    return text === null ? undefined : (JSON.parse(text) as LastRun)
  } catch {
    return undefined
  }
}
