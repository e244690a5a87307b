/**
 * Stores values in the browser. If storage is forbidden or full, nothing is stored and no call
 * fails.
 */

export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value)
  } catch {
    // Storage is not available.
  }
}

export function forget(key: string): void {
  try {
    localStorage.removeItem(key)
  } catch {
    // Storage is not available.
  }
}

/** Texts that were typed but not sent. Longer ones than the browser stores are lost by a reload. */
const drafts = new Map<string, string>()

export function draftAt(key: string): string {
  try {
    return drafts.get(key) ?? sessionStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

/** For this window; an empty text removes the draft. */
export function keepDraft(key: string, text: string): void {
  drafts.set(key, text)
  try {
    sessionStorage.removeItem(key)
    if (text !== '') sessionStorage.setItem(key, text)
  } catch {
    // Storage is not available or full.
  }
}
