/** Parses the arguments that a model wrote for a tool with several arguments. */

import type { JsonSchema } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { parsedArguments } from '../../core/json.ts'

interface ArgumentSpec {
  readonly type: 'string' | 'integer' | 'boolean'
  readonly description: string
  readonly isRequired?: boolean
  readonly values?: readonly string[]
  readonly min?: number
  readonly max?: number
}

export type ArgumentSpecs = Readonly<Record<string, ArgumentSpec>>

type ValueOf<Spec extends ArgumentSpec> = Spec['type'] extends 'string'
  ? Spec extends { readonly values: readonly (infer Value)[] }
    ? Value
    : string
  : Spec['type'] extends 'integer'
    ? number
    : boolean

/** A missing argument is null; a required one never is. */
export type ArgumentValues<Specs extends ArgumentSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name]['isRequired'] extends true
    ? ValueOf<Specs[Name]>
    : ValueOf<Specs[Name]> | null
}

export function argumentSchema(specs: ArgumentSpecs): JsonSchema {
  const properties = Object.fromEntries(
    Object.entries(specs).map(([name, { type, description, values, min, max }]) => {
      const bounds = {
        ...(values === undefined ? {} : { enum: values }),
        ...(min === undefined ? {} : { minimum: min }),
        ...(max === undefined ? {} : { maximum: max }),
      }
      return [name, { type, description, ...bounds }]
    }),
  )
  const required = Object.entries(specs).flatMap(([name, { isRequired }]) => {
    return isRequired === true ? [name] : []
  })
  return { type: 'object', properties, required, additionalProperties: false }
}

/** Also accepts clear mistakes, such as a number as a string. @throws AppError for the model */
export function readArguments<Specs extends ArgumentSpecs>(
  input: string,
  specs: Specs,
): ArgumentValues<Specs> {
  const sent = parsedObject(input, specs)
  const unknown = Object.keys(sent).find((name) => !Object.hasOwn(specs, name))
  if (unknown !== undefined) {
    throw wrongArguments(`there is no argument "${unknown.slice(0, 80)}"; ${argumentsOf(specs)}`)
  }
  const values = Object.entries(specs).map(([name, spec]) => [
    name,
    checkedValue(name, spec, sent[name]),
  ])
  // Each value was checked against its spec.
  return Object.fromEntries(values) as ArgumentValues<Specs>
}

function argumentsOf(specs: ArgumentSpecs): string {
  const names = Object.entries(specs).map(([name, spec]) => {
    return spec.isRequired === true ? name : `${name} (optional)`
  })
  return `the arguments are ${names.join(', ')}`
}

function parsedObject(input: string, specs: ArgumentSpecs): Readonly<Record<string, unknown>> {
  const value = parsedArguments(input)
  if (value !== null) return value
  throw wrongArguments(`the arguments must be one JSON object; ${argumentsOf(specs)}`)
}

function checkedValue(name: string, spec: ArgumentSpec, sent: unknown): unknown {
  const value = typeof sent === 'string' && sent.trim() === '' ? null : (sent ?? null)
  if (value === null) {
    if (spec.isRequired === true) throw wrongArguments(`"${name}" is missing: ${spec.description}`)
    return null
  }
  if (spec.type === 'boolean') return booleanOf(name, value)
  if (spec.type === 'integer') return integerOf(name, spec, value)
  if (typeof value !== 'string') throw wrongArguments(`"${name}" must be a string`)
  if (value.length > ARGUMENT_CHARS_MAX) {
    throw wrongArguments(`"${name}" has at most ${ARGUMENT_CHARS_MAX} characters`)
  }
  if (spec.values === undefined) return value
  const chosen = spec.values.find((one) => one === value.trim().toLowerCase())
  if (chosen === undefined)
    throw wrongArguments(`"${name}" must be one of ${spec.values.join(', ')}`)
  return chosen
}

const ARGUMENT_CHARS_MAX = 65_536

function booleanOf(name: string, value: unknown): boolean {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw wrongArguments(`"${name}" must be true or false`)
}

function integerOf(name: string, { min, max }: ArgumentSpec, value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value
  const isInteger = typeof number === 'number' && Number.isSafeInteger(number)
  if (!isInteger || number < (min ?? -Infinity) || number > (max ?? Infinity)) {
    throw wrongArguments(
      `"${name}" must be a whole number from ${min ?? 0} to ${max ?? 'as many as there are'}`,
    )
  }
  return number
}

function wrongArguments(why: string): AppError {
  return new AppError('invalid_request', `The arguments are invalid: ${why}`)
}
