import type { Static, TSchema } from 'elysia'
import { TypeCompiler } from 'elysia/type-system'
import { AppError } from '../errors.ts'

/** The shape of a body: validates it, types it and stands in the OpenAPI document. */
export interface BodySchema<T> {
  readonly schema: TSchema
  /** A limit below that of the settings, for what everyone may send. */
  readonly bytesMax?: number
  /**
   * @throws AppError that names the first field which is wrong, what was expected and what was
   * found
   */
  check(value: unknown, method: string): T
}

/** Compiles once; call it where the module is loaded, never for a request. */
export function bodySchema<S extends TSchema>(
  schema: S,
  limits: { readonly bytesMax?: number } = {},
): BodySchema<Static<S>> {
  const compiled = TypeCompiler.Compile(schema)
  return {
    schema,
    ...limits,
    check(value, method) {
      if (compiled.Check(value)) return value
      const wrong = compiled.Errors(value).First()
      throw wrong === undefined
        ? new Error('a value is refused without a reason')
        : shapeError(wrong, method)
    },
  }
}

interface WrongValue {
  /** TypeBox's own sentence. */
  readonly message: string
  /** JSON pointer. */
  readonly path: string
  readonly value: unknown
  readonly schema: TSchema
}

function shapeError(error: WrongValue, method: string): AppError {
  const wrong = wrongItem(error) ?? error
  const keys = wrong.path.split('/').slice(1).map(unescaped)
  const [field, inner] = keys
  if (field === undefined) {
    const found = kindOf(wrong.value)
    return new AppError('invalid_request', `The body must be a JSON object, not ${found}`)
  }
  if (wrong.message === 'Unexpected property') {
    return new AppError('unknown_field', `Unknown field "${fieldName(keys)}"`)
  }
  if (keys.length === 1 && (wrong.value === undefined || wrong.value === null)) {
    return new AppError('missing_parameter', `Must provide "${field}" parameter in ${method} body`)
  }
  if (keys.length === 2 && wrong.value === undefined) {
    if (field === 'agent') {
      return new AppError('missing_field', `Missing "${inner}" field for agent`)
    }
    return new AppError('missing_parameter', `Must provide "${inner}" field in "${field}"`)
  }
  const expected = expectationOf(wrong.schema)
  const message = `Field "${fieldName(keys)}" must be ${expected}, not ${kindOf(wrong.value)}`
  return new AppError('invalid_request', message)
}

/** A list that may also be null is refused as a whole: this finds the item that is to blame. */
function wrongItem({ path, value, schema, message }: WrongValue): WrongValue | undefined {
  if (!Array.isArray(schema.anyOf) || !Array.isArray(value)) return undefined
  const list: TSchema | undefined = schema.anyOf.find((one: TSchema) => one.type === 'array')
  const index = value.findIndex((item) => jsonTypeOf(item) !== list?.items?.type)
  if (list === undefined || index === -1) return undefined
  return { path: `${path}/${index}`, value: value[index], schema: list.items, message }
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function unescaped(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** `['a', 'rows', '3']` → `a.rows[3]`. */
function fieldName(keys: readonly string[]): string {
  const parts = keys.map((key, index) => {
    if (/^\d+$/.test(key)) return `[${key}]`
    return index === 0 ? key : `.${key}`
  })
  return parts.join('').slice(0, 200)
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number')
    return Number.isInteger(value) ? `the number ${value}` : 'a fraction'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const NAMES: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['a string', 'strings'],
  number: ['a number', 'numbers'],
  boolean: ['true or false', 'truth values'],
  object: ['an object', 'objects'],
  null: ['null', 'nulls'],
}

function expectationOf(schema: TSchema): string {
  if (Array.isArray(schema.anyOf)) {
    const kinds: readonly string[] = schema.anyOf.map(expectationOf)
    const named = kinds.filter((kind) => kind !== 'null')
    return [...new Set(named)].join(' or ')
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.type === 'array') return `a list of ${NAMES[schema.items?.type]?.[1] ?? 'values'}`
  if (schema.multipleOf === 1) return 'an integer'
  return NAMES[schema.type]?.[0] ?? 'another value'
}
