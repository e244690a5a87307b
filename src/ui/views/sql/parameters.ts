/** Values for the `:name` of a statement: what was typed, and what it is meant as. Pure. */

export const PARAMETER_KINDS = ['auto', 'text', 'number', 'true or false', 'null', 'JSON'] as const
type ParameterKind = (typeof PARAMETER_KINDS)[number]

export interface Parameter {
  readonly typed: string
  readonly kind: ParameterKind
}

export type Parameters = Readonly<Record<string, Parameter>>

export const NO_PARAMETERS: Parameters = {}
export const NOT_TYPED: Parameter = { typed: '', kind: 'auto' }

type ParameterValue =
  | { readonly value: unknown; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string }

/** What is sent for it, or why it cannot be that. */
export function parameterValue({ typed, kind }: Parameter): ParameterValue {
  if (kind === 'null') return { value: null }
  if (kind === 'text') return { value: typed }
  if (kind === 'number') return numberOf(typed)
  if (kind === 'JSON') return jsonOf(typed)
  if (kind === 'true or false') {
    const isKnown = /^\s*(true|false)\s*$/i.test(typed)
    return isKnown ? { value: /true/i.test(typed) } : { problem: 'true or false is expected' }
  }
  return { value: guessed(typed) }
}

/** `the number 10`, `null`: what `auto` takes it for, and the others as what it arrives. */
export function saidOfValue(value: unknown): string {
  if (value === null) return 'null'
  if (value === '') return 'an empty text'
  if (Array.isArray(value)) return `a list of ${value.length}`
  const words: Readonly<Record<string, string>> = { object: 'a JSON object', string: 'a text' }
  return words[typeof value] ?? `the ${typeof value} ${String(value)}`
}

/** A number only where it would be written back as it was typed: `007` and `1e999` are texts. */
function guessed(typed: string): unknown {
  if (typed === 'null') return null
  if (typed === 'true' || typed === 'false') return typed === 'true'
  const number = Number(typed)
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(typed) && isExact(typed, number) ? number : typed
}

function numberOf(typed: string): ParameterValue {
  const number = Number(typed)
  if (typed.trim() === '' || !Number.isFinite(number)) return { problem: 'A number is expected' }
  // As digits the server reads every integer, however long.
  return { value: isExact(typed, number) ? number : typed.trim() }
}

function isExact(typed: string, number: number): boolean {
  return !/^\s*-?\d+\s*$/.test(typed) || Number.isSafeInteger(number)
}

function jsonOf(typed: string): ParameterValue {
  try {
    return { value: JSON.parse(typed) }
  } catch {
    return { problem: 'JSON is expected, such as [1, 2] or ["a", "b"]' }
  }
}

/** @returns the first problem, with its name */
export function valuesOf(
  parameters: Parameters,
  names: readonly string[],
): { readonly params: Readonly<Record<string, unknown>>; readonly problem?: string } {
  const params: Record<string, unknown> = {}
  for (const name of names) {
    const one = parameterValue(parameters[name] ?? NOT_TYPED)
    if (one.problem !== undefined) return { params, problem: `:${name}: ${one.problem}` }
    params[name] = one.value
  }
  return { params }
}
