import { safeLine } from '../terminal-text.ts'

/** `name: value`, a line each. */
export function shownLines(value: unknown, prefix = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [`${prefix}: ${safeLine(String(value))}`]
  return Object.entries(value).flatMap(([key, inner]) => {
    return shownLines(inner, prefix === '' ? key : `${prefix}.${key}`)
  })
}
