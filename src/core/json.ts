/** Reads external values of unknown shape. */

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** undefined: the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** null: the text is not a JSON object. Empty text gives an empty object: models often send it for "no arguments". */
export function parsedArguments(text: string): JsonObject | null {
  const value = text.trim() === '' ? {} : parsedJson(text)
  return isObject(value) ? value : null
}

/** A whole number from 0 on that a double holds exactly. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
