import type { Static, TSchema } from 'elysia'
import { type TypeCheck, TypeCompiler } from 'elysia/type-system'
import { AppError } from '../../../core/errors.ts'
import { yieldToEventLoop } from '../../../core/runtime/serial-queue.ts'
import type { RouteContext } from '../request/route-context.ts'
import { parseJson } from './json-text.ts'

/**
 * Reads a JSON body and checks it against its schema.
 * @param isOptional whether a missing body counts as `{}`, because some clients announce JSON but
 * send nothing
 * @throws AppError `unsupported_media_type`, `body_too_large`, `invalid_json`, `cancelled`, and
 * those of the schema
 */
export async function readJson<T>(
  context: RouteContext,
  request: Request,
  body: BodySchema<T>,
  isOptional = false,
): Promise<T> {
  if (isOptional && request.body === null) return body.check({}, request.method)
  requireJsonType(request)
  const bytes = await readBody(context, request, body.bytesMax)
  const value = await parseJson(bytes, context.scopeOf(request).signal)
  const checked = body.check(value, request.method)
  const name = nameIn(checked)
  if (name !== undefined) context.scopeOf(request).noteTarget(name)
  return checked
}

/** The name in a definition, which may be wrapped: `{"agent": {"name": …}}`. */
function nameIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if ('name' in value) return typeof value.name === 'string' ? value.name : undefined
  const [inner, ...others] = Object.values(value)
  return others.length === 0 && !Array.isArray(inner) ? nameIn(inner) : undefined
}

const SMALL_BYTES_MAX = 16 * 1024

/** Reads a request's body. @throws AppError `body_too_large`, `cancelled` */
export async function readBody(
  context: RouteContext,
  request: Request,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<Uint8Array<ArrayBuffer>> {
  const { bodyBytesMax } = context.deps.settings
  const isOwn = bytesMax < bodyBytesMax
  const name = isOwn ? 'the limit for this route' : 'the limit (EIDER_BODY_BYTES_MAX)'
  const limit = { bytesMax: isOwn ? bytesMax : bodyBytesMax, name }
  const bytes = await readBytes(request, limit)
  context.scopeOf(request).bodyArrived()
  // Large bodies may arrive at the same time, and processing each takes time.
  if (bytes.length > SMALL_BYTES_MAX) await context.requests.bodyTurn()
  return bytes
}

const SMALL_PIECE_BYTES = 1024

interface BodyLimit {
  readonly bytesMax: number
  /** What the message calls the limit: the setting's name, if it can be raised. */
  readonly name: string
}

/** A declared length is checked first; Bun reads no more than that. */
async function readBytes(request: Request, limit: BodyLimit): Promise<Uint8Array<ArrayBuffer>> {
  if (declaredLength(request, limit) === null) {
    return Buffer.concat(await Array.fromAsync(limitedBody(request, limit)))
  }
  try {
    return new Uint8Array(await request.arrayBuffer())
  } catch (error) {
    throw leftEarly(error)
  }
}

/** null if it is not declared. @throws AppError `body_too_large` */
function declaredLength({ headers }: Request, limit: BodyLimit): number | null {
  const declared = headers.get('content-length')
  if (declared === null) return null
  if (Number(declared) > limit.bytesMax) throw tooLarge(limit)
  return Number(declared)
}

/** Checked by Content-Length and while reading. @throws AppError `body_too_large`, `cancelled` */
export async function* limitedBody(
  request: Request,
  limit: BodyLimit,
): AsyncGenerator<Uint8Array, void> {
  const declared = declaredLength(request, limit)
  let sizeBytes = 0
  try {
    for await (const piece of request.body ?? []) {
      sizeBytes += piece.byteLength
      if (sizeBytes > limit.bytesMax) throw tooLarge(limit)
      yield piece
      // Bun then joins what has arrived. A body can consist of millions of pieces of one byte.
      if (piece.byteLength < SMALL_PIECE_BYTES) await yieldToEventLoop()
    }
  } catch (error) {
    throw error instanceof AppError ? error : leftEarly(error)
  }
  // When a client disconnects, Bun ends the stream as if it were complete.
  if (declared !== null && sizeBytes < declared) throw leftEarly(null)
}

function leftEarly(cause: unknown): AppError {
  const message = 'The connection was closed before the whole body had arrived'
  return new AppError('cancelled', message, cause === null ? {} : { cause })
}

function tooLarge({ bytesMax, name }: BodyLimit): AppError {
  return new AppError('body_too_large', `The body has more than ${bytesMax} bytes, ${name}`)
}

/** @throws AppError `unsupported_media_type` unless the content type is JSON, not compressed */
function requireJsonType({ headers }: Request): void {
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (!/^identity$/i.test(encoding.trim())) {
    const shown = encoding.slice(0, 100)
    const message = `A JSON body must not be compressed; its Content-Encoding is "${shown}"`
    throw new AppError('unsupported_media_type', message)
  }
  const type = headers.get('content-type')
  if (type !== null && isJsonType(type)) return
  const found = type === null ? 'is missing' : `is "${type.slice(0, 100)}"`
  const message = `The Content-Type of the body must be application/json; it ${found}`
  throw new AppError('unsupported_media_type', message)
}

export function isJsonType(contentType: string): boolean {
  return /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType.trim())
}

/** A body's schema validates the body, types it and describes it in the OpenAPI document. */
export interface BodySchema<T> {
  readonly schema: TSchema
  /** A lower limit than in the settings, for requests that need no authentication. */
  readonly bytesMax?: number
  /** @throws AppError that names the first invalid field, the expected value and the value found */
  check(value: unknown, method: string): T
}

/** Compiles with the first body. Call it at module level, never per request. */
export function bodySchema<S extends TSchema>(
  schema: S,
  limits: { readonly bytesMax?: number } = {},
): BodySchema<Static<S>> {
  let compiled: TypeCheck<S> | undefined
  return {
    schema,
    ...limits,
    check(value, method) {
      compiled ??= TypeCompiler.Compile(schema)
      if (compiled.Check(value)) return value
      const wrong = compiled.Errors(value).First()
      throw wrong === undefined
        ? new Error('a value is refused without a reason')
        : shapeError(wrong, method)
    },
  }
}

interface WrongValue {
  /** TypeBox's own error message. */
  readonly message: string
  /** A JSON Pointer. */
  readonly path: string
  readonly value: unknown
  readonly schema: TSchema
  /** For a union: the errors of each variant. */
  readonly errors: readonly Iterable<WrongValue>[]
}

function shapeError(error: WrongValue, method: string): AppError {
  const wrong = innermost(error)
  const keys = wrong.path.split('/').slice(1).map(unescaped)
  const [field] = keys
  if (field === undefined) {
    const found = kindOfValue(wrong.value)
    return new AppError('invalid_request', `The body must be a JSON object, not ${found}`)
  }
  if (wrong.message === UNEXPECTED) {
    const expected = Object.keys(wrong.schema.properties).map((name) => `"${name}"`)
    const message = `Unknown field "${fieldName(keys)}"; expected ${expected.join(', ')}`
    return new AppError('unknown_field', message, { param: fieldName(keys) })
  }
  if (keys.length === 1 && (wrong.value === undefined || wrong.value === null)) {
    const message = `Must provide "${field}" parameter in ${method} body`
    return new AppError('missing_parameter', message, { param: field })
  }
  if (wrong.value === undefined) {
    if (field === 'agent' && keys.length === 2) {
      return new AppError('missing_field', `Missing "${keys[1]}" field for agent`)
    }
    const parent = fieldName(keys.slice(0, -1))
    const message = `Must provide "${keys.at(-1)}" field in "${parent}"`
    return new AppError('missing_parameter', message, { param: fieldName(keys) })
  }
  const expected = expectationOf(wrong.schema)
  const special = hugeNumber(wrong) ?? longList(wrong) ?? unknownWord(wrong)
  const found = special ?? kindOfValue(wrong.value)
  const message = `Field "${fieldName(keys)}" must be ${expected}, not ${found}`
  return new AppError('invalid_request', message, { param: fieldName(keys) })
}

/** Finds the actual error if no variant of a union matches: the one in the most similar variant. */
function innermost(error: WrongValue): WrongValue {
  if (typeof error.value !== 'object' || error.value === null) return error
  const variants: readonly TSchema[] = error.schema.anyOf ?? []
  const index = variants.findIndex((variant) => isMeantFor(variant, error.value))
  const inner = Iterator.from(error.errors[index] ?? [])
    .take(INNER_ERRORS_MAX)
    .toArray()
  // A misspelt field also makes the right one missing, but its own name is more helpful.
  const found = inner.find(({ message }) => message === UNEXPECTED) ?? inner[0]
  return found === undefined ? error : innermost(found)
}

/** Of the value's JSON type and, for objects, with the same constants, such as a `type`. */
function isMeantFor({ anyOf, type, properties = {} }: TSchema, value: unknown): boolean {
  if (Array.isArray(anyOf)) return anyOf.some((variant) => isMeantFor(variant, value))
  if (typeof value !== 'object' || value === null || type !== jsonTypeOf(value)) return false
  const constants = Object.entries<TSchema>(properties).filter(([, one]) => 'const' in one)
  return constants.every(([name, one]) => Reflect.get(value, name) === one.const)
}

const UNEXPECTED = 'Unexpected property'
const INNER_ERRORS_MAX = 10

/** Detects a number that `parseJson` turned into a string because a double cannot hold it. */
function hugeNumber({ value, schema }: WrongValue): string | undefined {
  const isHuge = typeof value === 'string' && /^-?(?:\d{16,}|[\d.]+e\+?\d{3,})$/i.test(value)
  const kinds: readonly TSchema[] = schema.anyOf ?? [schema]
  if (!isHuge || !kinds.some(({ type }) => type === 'number')) return undefined
  return `the number ${value.length > 40 ? `${value.slice(0, 40)}…` : value}`
}

function longList({ value, schema }: WrongValue): string | undefined {
  const kinds: readonly TSchema[] = schema.anyOf ?? [schema]
  if (!Array.isArray(value)) return undefined
  return kinds.some(({ maxItems }) => value.length > maxItems) ? `of ${value.length}` : undefined
}

/** A string where only certain strings are allowed. */
function unknownWord({ value, schema }: WrongValue): string | undefined {
  const kinds: readonly TSchema[] = schema.anyOf ?? [schema]
  const isWord = typeof value === 'string' && kinds.some((kind) => typeof kind.const === 'string')
  return isWord ? JSON.stringify(value.slice(0, 40)) : undefined
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

function kindOfValue(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return `the number ${value}`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const NAMES: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['a string', 'strings'],
  number: ['a number', 'numbers'],
  boolean: ['true or false', 'booleans'],
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
  if (schema.type === 'array') {
    const most = schema.maxItems === undefined ? '' : `at most ${schema.maxItems} `
    return `a list of ${most}${NAMES[schema.items?.type]?.[1] ?? 'values'}`
  }
  if (schema.type === 'number') {
    return `${schema.multipleOf === 1 ? 'an integer' : 'a number'}${boundsOf(schema)}`
  }
  const kind = schema.properties?.type?.const
  if (kind !== undefined) return `an object with "type": ${JSON.stringify(kind)}`
  return NAMES[schema.type]?.[0] ?? 'another value'
}

function boundsOf({ minimum, maximum }: TSchema): string {
  return minimum === undefined || maximum === undefined ? '' : ` from ${minimum} to ${maximum}`
}
