/** What this browser remembers for the page. If storage is forbidden or full, nothing is remembered, and nothing fails. */

/** Null: nothing is remembered. */
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
    // As it says above.
  }
}

export function forget(key: string): void {
  try {
    localStorage.removeItem(key)
  } catch {
    // As it says above.
  }
}
