/**
 * An own member of a value of unknown shape; `undefined` where there is none. Lists have `'0'`,
 * `'1'`, …
 */
export function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.getOwnPropertyDescriptor(value, key)?.value
}
