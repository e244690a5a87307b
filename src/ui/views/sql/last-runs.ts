/**
 * What this window showed the rows of, tab by tab, so that a reload brings them back: by running again what only reads.
 * The rows themselves are not kept: somebody else may sit here after a sign-out.
 */
import type { Parameters } from './parameters.ts'

const KEY = 'eider.sql.ran.'

export interface LastRun {
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
    sessionStorage.setItem(`${KEY}${tabId}`, JSON.stringify(run))
  } catch {
    // It is run by hand, as in a browser that keeps nothing.
  }
}

export function forgetLastRun(tabId: string): void {
  try {
    sessionStorage.removeItem(`${KEY}${tabId}`)
  } catch {
    // As above.
  }
}

export function lastRunOf(tabId: string): LastRun | undefined {
  try {
    const text = sessionStorage.getItem(`${KEY}${tabId}`)
    // Nobody but this page writes it.
    return text === null ? undefined : (JSON.parse(text) as LastRun)
  } catch {
    return undefined
  }
}
