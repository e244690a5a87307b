export const INVALID_KNOWLEDGE_BASE = 'invalid_knowledge_base'

/**
 * Reads the contract's fields (docs/contract.md) out of what a client sent: the object under the wrapper of a REST body, or the
 * options of a SQL statement. Both edges share the names and so share this.
 */

import { AppError, ERRORS, type ErrorCode } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'

/** Field name of the contract → value as it was sent. */
export type Fields = Readonly<Record<string, unknown>>

/** The fields that have a value: spread over others, they change nothing else. */
export function definedFields<T extends object>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const defined = Object.entries(fields).filter(([, value]) => value !== undefined)
  // The entries that stay have their own types.
  return Object.fromEntries(defined) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

/**
 * Existing clients nest a definition under `params`: both forms are read, and an outer field wins.
 * @param ignored fields of `params` that only answers hold: a client that saves what it read sends them back
 * @throws AppError of that code where `params` is not an object
 */
export function withNestedParams(
  { params, ...outer }: Fields,
  code: ErrorCode,
  ignored: ReadonlySet<string> = new Set(),
): Fields {
  if (params !== undefined && params !== null && !isObject(params)) {
    throw new AppError(code, 'Field "params" must be an object')
  }
  const nested = Object.entries(params ?? {}).filter(([name]) => !ignored.has(name))
  const given = Object.entries(outer).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries([...nested, ...given])
}

function kindOfValue(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

/** Reads one field after the other; a field that is missing or null is `undefined`. */
export class FieldReader {
  readonly #fields: Fields
  readonly #code: ErrorCode

  constructor(fields: Fields, code: ErrorCode) {
    this.#fields = fields
    this.#code = code
  }

  isNull(name: string): boolean {
    return this.#fields[name] === null
  }

  isSet(name: string): boolean {
    return this.#fields[name] !== undefined && this.#fields[name] !== null
  }

  text(name: string): string | undefined {
    const value = this.#fields[name]
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'string') throw this.#wrong(name, 'a string', value)
    return value
  }

  textList(name: string): readonly string[] | undefined {
    const value = this.#fields[name]
    if (value === undefined || value === null) return undefined
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
      throw this.#wrong(name, 'a list of strings', value)
    }
    return value
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.#fields[name]
    if (value === undefined || value === null) return undefined
    if (!Array.isArray(value)) throw this.#wrong(name, 'a list', value)
    return value
  }

  object(name: string): Readonly<Record<string, unknown>> | undefined {
    const value = this.#fields[name]
    if (value === undefined || value === null) return undefined
    if (!isObject(value)) throw this.#wrong(name, 'an object', value)
    return value
  }

  /** An integer within the bounds, both included. */
  integer(
    name: string,
    bounds: { readonly min: number; readonly max: number },
  ): number | undefined {
    const value = this.#fields[name]
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'number') throw this.#wrong(name, 'an integer', value)
    if (!Number.isInteger(value)) {
      throw new AppError(this.#code, `Field "${name}" must be an integer; it is ${value}`)
    }
    if (value < bounds.min || value > bounds.max) {
      const allowed = `from ${bounds.min} to ${bounds.max}`
      throw new AppError(this.#code, `Field "${name}" must be ${allowed}; it is ${value}`)
    }
    return value
  }

  /** A finite number within the bounds, both included. */
  number(
    name: string,
    { min, max }: { readonly min: number; readonly max: number },
  ): number | undefined {
    const value = this.#fields[name]
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'number') throw this.#wrong(name, 'a number', value)
    if (value >= min && value <= max) return value
    throw new AppError(this.#code, `Field "${name}" must be from ${min} to ${max}; it is ${value}`)
  }

  truth(name: string): boolean | undefined {
    const value = this.#fields[name]
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'boolean') throw this.#wrong(name, 'true or false', value)
    return value
  }

  /** @throws AppError when a field that is set is not among the known ones */
  allowOnly(known: ReadonlySet<string>, message: (name: string) => string): void {
    for (const [name, value] of Object.entries(this.#fields)) {
      if (value !== null && value !== undefined && !known.has(name)) {
        // Clients know the title of the resource's other mistakes.
        const { title } = ERRORS[this.#code]
        throw new AppError('unknown_field', message(name), { title })
      }
    }
  }

  #wrong(name: string, expected: string, value: unknown): AppError {
    const message = `Field "${name}" must be ${expected}, not ${kindOfValue(value)}`
    return new AppError(this.#code, message)
  }
}
