import type { Static, TSchema } from 'elysia'
import { TypeCompiler } from 'elysia/type-system'
import { AppError } from '../errors.ts'
import { yieldToEventLoop } from '../runtime/scheduling.ts'
import type { RouteContext } from './route-context.ts'

const LARGE_BODY_BYTES = 256 * 1024

/** Deeper JSON is refused: code that walks a value would run out of stack. */
const DEPTH_MAX = 200

/**
 * The JSON body of a request, checked by its schema.
 * @throws AppError `unsupported_media_type`, `body_too_large`, `invalid_json`, `cancelled`, those of the schema
 */
export async function readJson<T>(
  context: RouteContext,
  request: Request,
  body: BodySchema<T>,
): Promise<T> {
  requireJsonType(request)
  const bytes = await readBody(context, request, body.bytesMax)
  const value = parseJson(bytes)
  // Parsing a large body has held the event loop; what waits goes first.
  if (bytes.byteLength > LARGE_BODY_BYTES) await yieldToEventLoop()
  return body.check(value, request.method)
}

/** The bytes of a request's body. @throws AppError `body_too_large`, `cancelled` */
export async function readBody(
  context: RouteContext,
  request: Request,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readBytes(request, Math.min(bytesMax, context.deps.settings.bodyBytesMax))
  context.scopeOf(request).bodyArrived()
  return bytes
}

/** Checks the limit before reading (Content-Length) and while reading, so that no more than `bytesMax` is ever in memory. */
async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) > bytesMax) throw tooLarge(bytesMax)
  try {
    // The server reads no more of the body than was declared.
    if (declared !== null) return new Uint8Array(await request.arrayBuffer())
    return request.body === null ? new Uint8Array() : await readAll(request.body, bytesMax)
  } catch (error) {
    if (error instanceof AppError) throw error
    const message = 'The connection was closed before the whole body had arrived'
    throw new AppError('cancelled', message, { cause: error })
  }
}

async function readAll(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let sizeBytes = 0
  for await (const part of body) {
    sizeBytes += part.byteLength
    if (sizeBytes > bytesMax) throw tooLarge(bytesMax)
    parts.push(part)
  }
  const whole = new Uint8Array(sizeBytes)
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.byteLength
  }
  return whole
}

function tooLarge(bytesMax: number): AppError {
  return new AppError('body_too_large', `The body has more than ${bytesMax} bytes, the limit`)
}

/** @throws AppError `unsupported_media_type` unless the body is declared as JSON */
function requireJsonType(request: Request): void {
  const type = request.headers.get('content-type')
  if (type !== null && isJsonType(type)) return
  const found = type === null ? 'is missing' : `is "${type.slice(0, 100)}"`
  const message = `The Content-Type of the body must be application/json; it ${found}`
  throw new AppError('unsupported_media_type', message)
}

export function isJsonType(contentType: string): boolean {
  return /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType.trim())
}

/**
 * JSON text as a value. A key `__proto__` is refused, and a whole number that a double cannot
 * hold exactly becomes its digits as text, as in the answers.
 * @throws AppError `invalid_json`
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (depthOf(bytes) > DEPTH_MAX) {
    throw new AppError('invalid_json', `The JSON is nested more than ${DEPTH_MAX} levels deep`)
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const needsCare = text.includes('__proto__') || text.includes('\\u00') || /\d{16}/.test(text)
    return needsCare ? JSON.parse(text, carefully) : JSON.parse(text)
  } catch (error) {
    if (error instanceof AppError) throw error
    const why = error instanceof SyntaxError ? 'it does not parse' : 'it is not UTF-8'
    throw new AppError('invalid_json', `The body is not valid JSON: ${why}`, { cause: error })
  }
}

/** A reviver for `JSON.parse`; `source` is the text of a number. */
function carefully(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (key === '__proto__') {
    throw new AppError('invalid_json', 'The JSON has a key "__proto__", which no name may be')
  }
  if (typeof value !== 'number' || !Number.isInteger(value)) return value
  if (Number.isSafeInteger(value)) return value
  const source = context?.source
  return source !== undefined && /^-?\d+$/.test(source) ? source : value
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Where the quote is that ends the string. The native search is fast, and most of a body is strings. */
function endOfString(json: Uint8Array, start: number): number {
  let end = json.indexOf(QUOTE, start)
  while (end !== -1 && isEscaped(json, end)) end = json.indexOf(QUOTE, end + 1)
  return end === -1 ? json.length : end
}

/** True after an odd number of backslashes. The string's opening quote ends the count. */
function isEscaped(json: Uint8Array, index: number): boolean {
  let backslashes = 0
  while (json[index - 1 - backslashes] === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}

/** How deep brackets and braces nest, not counting those in strings. */
function depthOf(json: Uint8Array): number {
  let depth = 0
  let deepest = 0
  for (let index = 0; index < json.length; index++) {
    const byte = json[index]
    if (byte === QUOTE) {
      index = endOfString(json, index + 1)
    } else if (byte === 0x5b || byte === 0x7b) {
      depth++
      if (depth > deepest) deepest = depth
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return deepest
}

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
  /** Of a union: what is wrong by each of its variants. */
  readonly errors: readonly Iterable<WrongValue>[]
}

function shapeError(error: WrongValue, method: string): AppError {
  const wrong = innermost(error)
  const keys = wrong.path.split('/').slice(1).map(unescaped)
  const [field] = keys
  if (field === undefined) {
    const found = kindOf(wrong.value)
    return new AppError('invalid_request', `The body must be a JSON object, not ${found}`)
  }
  if (wrong.message === UNEXPECTED) {
    const expected = Object.keys(wrong.schema.properties).map((name) => `"${name}"`)
    const message = `Unknown field "${fieldName(keys)}"; expected ${expected.join(', ')}`
    return new AppError('unknown_field', message)
  }
  if (keys.length === 1 && (wrong.value === undefined || wrong.value === null)) {
    return new AppError('missing_parameter', `Must provide "${field}" parameter in ${method} body`)
  }
  if (wrong.value === undefined) {
    if (field === 'agent' && keys.length === 2) {
      return new AppError('missing_field', `Missing "${keys[1]}" field for agent`)
    }
    const parent = fieldName(keys.slice(0, -1))
    return new AppError('missing_parameter', `Must provide "${keys.at(-1)}" field in "${parent}"`)
  }
  const expected = expectationOf(wrong.schema)
  const found = hugeInteger(wrong) ?? longList(wrong) ?? kindOf(wrong.value)
  const message = `Field "${fieldName(keys)}" must be ${expected}, not ${found}`
  return new AppError('invalid_request', message)
}

/**
 * A value that may be of several kinds is refused as a whole: by the one kind that it is, this
 * finds what in it is to blame.
 */
function innermost(error: WrongValue): WrongValue {
  const variants: readonly TSchema[] = error.schema.anyOf ?? []
  const kind = jsonTypeOf(error.value)
  const index = variants.findIndex(({ type }) => type === kind)
  if (kind !== 'object' && kind !== 'array') return error
  const inner = Iterator.from(error.errors[index] ?? [])
    .take(INNER_ERRORS_MAX)
    .toArray()
  // A field that is misspelled is missing, too: its own name says more.
  const found = inner.find(({ message }) => message === UNEXPECTED) ?? inner[0]
  return found === undefined ? error : innermost(found)
}

const UNEXPECTED = 'Unexpected property'
const INNER_ERRORS_MAX = 10

/** `parseJson` makes text of an integer that a double cannot hold. */
function hugeInteger({ value, schema }: WrongValue): string | undefined {
  const isHuge = typeof value === 'string' && /^-?\d{16,}$/.test(value)
  const kinds: readonly TSchema[] = schema.anyOf ?? [schema]
  if (!isHuge || !kinds.some(({ multipleOf }) => multipleOf === 1)) return undefined
  return `the number ${value.length > 40 ? `${value.slice(0, 40)}…` : value}`
}

function longList({ value, schema }: WrongValue): string | undefined {
  const kinds: readonly TSchema[] = schema.anyOf ?? [schema]
  if (!Array.isArray(value)) return undefined
  return kinds.some(({ maxItems }) => value.length > maxItems) ? `of ${value.length}` : undefined
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
  if (value === Infinity || value === -Infinity) return 'one too large for a double'
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
  if (schema.type === 'array') {
    const most = schema.maxItems === undefined ? '' : `at most ${schema.maxItems} `
    return `a list of ${most}${NAMES[schema.items?.type]?.[1] ?? 'values'}`
  }
  if (schema.multipleOf === 1) return `an integer${boundsOf(schema)}`
  return NAMES[schema.type]?.[0] ?? 'another value'
}

function boundsOf({ minimum, maximum }: TSchema): string {
  return minimum === undefined || maximum === undefined ? '' : ` from ${minimum} to ${maximum}`
}
