import type { Row, RowValue } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { JsonChunking } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'

/** Lines `key: value` with keys such as `a.b[0].c`. @throws AppError `insert_failed` */
export function* chunkJson(
  text: string,
  options: JsonChunking,
): Generator<{ readonly content: string; readonly facts: Row }> {
  const value = parsedLine(text)
  checkDepth(value, 0)
  for (const { element, facts } of elementsOf(value, options)) {
    const content = contentOf(element, options)
    // Well-formed JSON may still contain an escaped lone surrogate.
    if (content.trim() !== '') yield { content: content.toWellFormed(), facts }
  }
}

function* elementsOf(
  value: RowValue,
  options: JsonChunking,
): Generator<{ readonly element: RowValue; readonly facts: Row }> {
  if (isList(value)) {
    for (const element of value) yield { element, facts: jsonFacts(element, options) }
    return
  }
  if (value === null || typeof value !== 'object' || options.chunkByObject) {
    yield { element: value, facts: jsonFacts(value, options) }
    return
  }
  for (const [name, field] of Object.entries(value)) {
    const facts = options.includeMetadata ? { field_name: name, ...jsonFacts(value, options) } : {}
    yield { element: { [name]: field }, facts }
  }
}

function contentOf(value: RowValue, options: JsonChunking): string {
  const chosen =
    options.excludeFields.length > 0 || options.includeFields.length > 0
      ? withChosenFields(value, '', options)
      : value
  if (chosen === undefined) return ''
  if (!options.flattenNested && typeof chosen === 'object' && chosen !== null) {
    return JSON.stringify(chosen, null, 2)
  }
  return [...jsonLines(chosen, '', options.nestedDelimiter)].join('\n')
}

/**
 * Keeps the fields named by their paths, with everything below them. Undefined if nothing is left.
 */
function withChosenFields(
  value: RowValue,
  path: string,
  options: JsonChunking,
): RowValue | undefined {
  if (value === null || typeof value !== 'object' || isList(value)) {
    return isChosen(path, options) ? value : undefined
  }
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const own = path === '' ? key : `${path}${options.nestedDelimiter}${key}`
    const chosen = withChosenFields(item, own, options)
    return chosen === undefined ? [] : [[key, chosen] as const]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function isChosen(path: string, options: JsonChunking): boolean {
  const { includeFields, excludeFields, nestedDelimiter } = options
  const isBelow = (field: string) => path === field || path.startsWith(field + nestedDelimiter)
  if (includeFields.length > 0) return includeFields.some(isBelow)
  return !excludeFields.some(isBelow)
}

/** Metadata `field_<key>` for the named fields, or else the top-level values, or else all. */
function jsonFacts(value: RowValue, options: JsonChunking): Row {
  if (!options.includeMetadata || value === null || typeof value !== 'object' || isList(value)) {
    return {}
  }
  const all = new Map(primitivesOf(value, '', options.nestedDelimiter))
  if (options.metadataFields.length > 0) {
    return factRow(
      options.metadataFields.flatMap((name) => {
        const found = all.get(name)
        return found === undefined ? [] : [[name, found] as const]
      }),
    )
  }
  const top = [...all].filter(([name]) => Object.hasOwn(value, name))
  return factRow(options.extractAllPrimitives || top.length === 0 ? [...all] : top)
}

function factRow(fields: readonly (readonly [string, RowValue])[]): Row {
  const shown = fields.slice(0, INGEST_LIMITS.jsonFactsMax)
  return Object.fromEntries(shown.map(([name, value]) => [`field_${name}`, value]))
}

function* primitivesOf(
  value: RowValue,
  path: string,
  delimiter: string,
): Generator<readonly [string, RowValue]> {
  if (value === null) return
  if (typeof value !== 'object') {
    yield [path, value]
    return
  }
  const entries = isList(value)
    ? value.map((item, index) => [`${path}[${index}]`, item] as const)
    : Object.entries(value).map(([key, item]) => {
        return [path === '' ? key : `${path}${delimiter}${key}`, item] as const
      })
  for (const [own, item] of entries) yield* primitivesOf(item, own, delimiter)
}

function parsedLine(text: string): RowValue {
  if (text.length > INGEST_LIMITS.jsonCharsMax) {
    const found = `found ${text.length}`
    const limit = `JSON content has at most ${INGEST_LIMITS.jsonCharsMax} characters`
    throw new AppError('insert_failed', `${limit}, ${found}`)
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    const literal = pythonLiteral(text)
    if (literal !== undefined) return literal
    const begin = JSON.stringify(text.slice(0, 40))
    const what = 'The content is neither valid JSON nor a valid Python literal'
    throw new AppError('insert_failed', `${what}; it begins with ${begin}`, { cause })
  }
}

function* jsonLines(value: RowValue, path: string, delimiter: string): Generator<string> {
  if (value === null) return
  if (typeof value !== 'object') {
    yield path === '' ? String(value) : `${path}: ${value}`
    return
  }
  if (isList(value)) {
    if (value.every((item) => item === null || typeof item !== 'object')) {
      const items = value.filter((item) => item !== null).join(', ')
      if (items !== '') yield path === '' ? items : `${path}: ${items}`
      return
    }
    for (const [index, item] of value.entries())
      yield* jsonLines(item, `${path}[${index}]`, delimiter)
    return
  }
  for (const [key, item] of Object.entries(value)) {
    yield* jsonLines(item, path === '' ? key : `${path}${delimiter}${key}`, delimiter)
  }
}

function checkDepth(value: RowValue, depth: number): void {
  if (value === null || typeof value !== 'object') return
  if (depth > INGEST_LIMITS.nestingMax) {
    const limit = `JSON nested deeper than ${INGEST_LIMITS.nestingMax} levels`
    throw new AppError('insert_failed', limit)
  }
  for (const item of Object.values(value)) checkDepth(item, depth + 1)
}

export function isList(value: unknown): value is readonly RowValue[] {
  return Array.isArray(value)
}

const JSON_TOKEN =
  /\s*(?:([[\](){},:])|('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(None|True|False))\s*/y

const FIELD_NAMES: Readonly<Record<string, RowValue>> = { None: null, True: true, False: false }
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' }

function pythonLiteral(text: string): RowValue | undefined {
  try {
    return new LiteralReader(text).whole()
  } catch (error) {
    if (error instanceof NoLiteral) return undefined
    throw error
  }
}

class NoLiteral extends Error {}

class LiteralReader {
  readonly #text: string
  #at = 0
  #token = ''

  constructor(text: string) {
    this.#text = text
    this.#next()
  }

  whole(): RowValue {
    const value = this.#value(0)
    if (this.#token !== '') throw new NoLiteral()
    return value
  }

  #next(): void {
    if (this.#at >= this.#text.length) {
      this.#token = ''
      return
    }
    JSON_TOKEN.lastIndex = this.#at
    const found = JSON_TOKEN.exec(this.#text)
    if (found === null) throw new NoLiteral()
    this.#token = found.slice(1).find((part) => part !== undefined) ?? ''
    this.#at = JSON_TOKEN.lastIndex
  }

  #take(): string {
    const token = this.#token
    this.#next()
    return token
  }

  #value(depth: number): RowValue {
    if (depth > INGEST_LIMITS.nestingMax) throw new NoLiteral()
    const token = this.#take()
    if (token === '{') return this.#dictionary(depth)
    if (token === '[') return this.#items(']', depth)
    if (token === '(') return this.#items(')', depth)
    if (Object.hasOwn(FIELD_NAMES, token)) return FIELD_NAMES[token] ?? null
    if (/^["']/.test(token)) return stringIn(token)
    if (/^-?\d/.test(token)) return Number(token)
    throw new NoLiteral()
  }

  #items(end: string, depth: number): RowValue {
    const items: RowValue[] = []
    while (this.#token !== end) {
      items.push(this.#value(depth + 1))
      if (this.#token !== end && this.#take() !== ',') throw new NoLiteral()
    }
    this.#next()
    return items
  }

  #dictionary(depth: number): RowValue {
    const entries: [string, RowValue][] = []
    while (this.#token !== '}') {
      const key = this.#value(depth + 1)
      if (typeof key === 'object' || this.#take() !== ':') throw new NoLiteral()
      entries.push([String(key), this.#value(depth + 1)])
      if (this.#token !== '}' && this.#take() !== ',') throw new NoLiteral()
    }
    this.#next()
    return Object.fromEntries(entries)
  }
}

function stringIn(token: string): string {
  return token
    .slice(1, -1)
    .replace(/\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))/g, (_, wide, narrow, char) => {
      const hex = wide ?? narrow
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
      return ESCAPES[char] ?? char
    })
}
