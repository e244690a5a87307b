import type { JsonSchema } from '../../domain/ports/model-ports.ts'
import { firstChars } from '../agent-limits.ts'
import { harmless } from '../loop/data-fence.ts'

const DEPTH_MAX = 12
const MEMBERS_MAX = 100
const TEXT_CHARS_MAX = 300

type Members = Readonly<Record<string, unknown>>

/**
 * The arguments of a tool of somebody else, as every provider takes them: only what is known of JSON schemas, in the form it
 * must have, with short texts. One wrong keyword, and a provider would refuse the whole question; so do alternatives beside
 * the properties. The server itself checks what it is sent.
 */
export function foreignSchema(sent: Members | null): JsonSchema {
  const { anyOf: _any, oneOf: _one, enum: _enum, const: _const, ...plain } = cleaned(sent ?? {}, 0)
  const properties = isMembers(plain.properties) ? plain.properties : {}
  const listed: readonly unknown[] = Array.isArray(plain.required) ? plain.required : []
  const required = listed.filter(
    (name) => typeof name === 'string' && Object.hasOwn(properties, name),
  )
  const { required: _required, ...rest } = plain
  return {
    ...rest,
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
  }
}

function cleaned(schema: unknown, depth: number): Members {
  if (!isMembers(schema) || depth > DEPTH_MAX) return {}
  const entries = Object.entries(KEYWORDS).flatMap(([keyword, clean]) => {
    if (!Object.hasOwn(schema, keyword)) return []
    const value = clean(schema[keyword], depth)
    return value === undefined ? [] : [[keyword, value] as const]
  })
  return Object.fromEntries(entries)
}

type Clean = (value: unknown, depth: number) => unknown

const schemas: Clean = (value, depth) => {
  if (!isMembers(value)) return undefined
  const entries = Object.entries(value).slice(0, MEMBERS_MAX)
  // Anthropic refuses other names.
  const named = entries.filter(([name]) => /^[\w.-]{1,64}$/.test(name))
  return Object.fromEntries(named.map(([name, schema]) => [name, cleaned(schema, depth + 1)]))
}

const schemaList: Clean = (value, depth) => {
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.slice(0, MEMBERS_MAX).map((schema) => cleaned(schema, depth + 1))
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']

const type: Clean = (value) => {
  if (Array.isArray(value)) {
    const known = TYPES.filter((one) => value.includes(one))
    return known.length === 0 ? undefined : [...new Set(known)]
  }
  return TYPES.some((known) => known === value) ? value : undefined
}

const text: Clean = (value) =>
  typeof value === 'string' ? plainText(value, TEXT_CHARS_MAX) : undefined
const amount: Clean = (value) => (Number.isFinite(value) ? value : undefined)
const scalar: Clean = (value) => {
  if (typeof value === 'string') return harmless(firstChars(value, TEXT_CHARS_MAX))
  return value === null || typeof value === 'boolean' || Number.isFinite(value) ? value : undefined
}
const scalars: Clean = (value) => {
  if (!Array.isArray(value)) return undefined
  const known = value.slice(0, MEMBERS_MAX).map((one) => scalar(one, 0))
  return known.length === 0 || known.includes(undefined) ? undefined : [...new Set(known)]
}
const names: Clean = (value) => {
  if (!Array.isArray(value)) return undefined
  const known = value.filter((one) => typeof one === 'string').slice(0, MEMBERS_MAX)
  return known.length === 0 ? undefined : [...new Set(known)]
}

/** What is kept of a schema. References and patterns are not: they help a model little, and a server that lies much. */
const KEYWORDS: Readonly<Record<string, Clean>> = {
  type,
  title: text,
  description: text,
  properties: schemas,
  required: names,
  items: (value, depth) => (isMembers(value) ? cleaned(value, depth + 1) : undefined),
  anyOf: schemaList,
  oneOf: schemaList,
  enum: scalars,
  const: scalar,
  default: scalar,
  minimum: amount,
  maximum: amount,
  minItems: amount,
  maxItems: amount,
  minLength: amount,
  maxLength: amount,
  additionalProperties: (value, depth) => {
    if (typeof value === 'boolean') return value
    return isMembers(value) ? cleaned(value, depth + 1) : undefined
  },
}

/** On one line, without what some servers take for the end of a message, and cut. */
export function plainText(value: string, charsMax: number): string {
  const line = harmless(value.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')).trim()
  return line.length <= charsMax ? line : `${firstChars(line, charsMax)} …`
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
