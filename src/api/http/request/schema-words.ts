/** Words for schemas. A schema with `$id` is named: the document contains it once and refers to it. */

import { type Static, type TSchema, t } from 'elysia'

/** A schema as code creates it; records are never changed. */
export type Wire<S extends TSchema> = Frozen<Static<S>>

type Frozen<T> = T extends readonly (infer One)[]
  ? readonly Frozen<One>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T

interface About {
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly default?: unknown
}

export function orNull<S extends TSchema>(schema: S, about: About = {}) {
  return t.Union([schema, t.Null()], { ...about })
}

/** A field that may be missing or null, with the same meaning. */
export function maybe<S extends TSchema>(schema: S, about: About = {}) {
  return t.Optional(orNull(schema, about))
}

type Fields = Readonly<Record<string, TSchema>>
type ObjectOf<F extends Fields> = ReturnType<typeof t.Object<F>>

/** A schema that has a name in the document. */
export function named<F extends Fields>(id: string, fields: F): ObjectOf<F>
export function named<F extends Fields>(id: string, about: string, fields: F): ObjectOf<F>
export function named<F extends Fields>(id: string, ...others: [F] | [string, F]) {
  const [fields, description] = others.length === 1 ? others : [others[1], others[0]]
  return t.Object(fields, { $id: id, ...(description === undefined ? {} : { description }) })
}

/** Refuses other fields. */
export function strict<F extends Fields>(fields: F): ObjectOf<F> {
  return t.Object(fields, { additionalProperties: false })
}

/** Accepts and ignores other fields. */
export function open<F extends Fields>(fields: F): ObjectOf<F> {
  return t.Object(fields, { additionalProperties: true })
}

/** One of these texts. For answers and documentation: bodies are checked with literals. */
export function oneOf<const T extends string>(
  values: readonly T[],
  about: About & { readonly $id?: string } = {},
) {
  return t.Unsafe<T>({ type: 'string', enum: [...values], ...about })
}

export const TEXTS = t.Array(t.String())
export const TIME = t.String({
  description: '`YYYY-MM-DD HH:MM:SS.ffffff`, UTC',
  examples: ['2026-04-30 12:00:00.000000'],
})
export const TIME_OR_NULL = orNull(TIME)
export const COUNT = t.Integer({ minimum: 0 })
/** An object whose fields its sender chose. */
export const FIELDS = t.Record(t.String(), t.Unknown())

const DOCUMENTED = Symbol('documented')

interface SchemaWords {
  readonly $id?: string
  readonly description?: string
}

/**
 * A schema that checks loosely, because a later reader of the value gives better error messages. The OpenAPI document
 * describes the actual value.
 */
export function documentedAs<S extends TSchema>(checked: S, shape: TSchema): S {
  return { ...checked, [DOCUMENTED]: shape }
}

/** Checked to be an object, documented by its shape. */
export function anObject(shape: TSchema = FIELDS) {
  return documentedAs(t.Object({}), shape)
}

/** Checked further on, documented by its shape. */
export function optionally(shape: TSchema) {
  return t.Optional(documentedAs(t.Unknown(), shape))
}

export type JsonSchema = Readonly<Record<string, unknown>>

/** Their values are data, not schemas. */
const DATA = new Set(['const', 'default', 'enum', 'example', 'examples', 'required'])

/**
 * A schema as the document shows it.
 * @param named collects named schemas
 */
export function shownSchema(schema: object, named: Map<string, JsonSchema>): JsonSchema {
  // Every schema may have one.
  const { [DOCUMENTED]: shape, ...checked } = schema as Partial<{
    readonly [DOCUMENTED]: object
  }>
  if (shape !== undefined) {
    // Words of JSON Schema, with their own types.
    const { description } = checked as SchemaWords
    const shown = shownSchema(shape, named)
    return description === undefined || '$ref' in shown ? shown : { ...shown, description }
  }
  // As above.
  const { $id, ...content } = checked as SchemaWords
  if ($id === undefined) return shownContent(content, named)
  if (!named.has($id)) {
    // Registered first, because it may contain itself.
    named.set($id, {})
    named.set($id, shownContent(content, named))
  }
  return { $ref: `#/components/schemas/${$id}` }
}

function shownContent(
  content: Readonly<Record<string, unknown>>,
  named: Map<string, JsonSchema>,
): JsonSchema {
  const entries = Object.entries(content).map(([key, value]): [string, unknown] => {
    if (DATA.has(key)) return [key, value]
    if (key === 'properties') return [key, eachShown(value, named)]
    if (Array.isArray(value)) return [key, value.map((one) => shownValue(one, named))]
    return [key, shownValue(value, named)]
  })
  return plainer(Object.fromEntries(entries))
}

function eachShown(schemas: unknown, named: Map<string, JsonSchema>): object {
  const entries = Object.entries(schemas ?? {}).map(([name, one]) => [name, shownValue(one, named)])
  return Object.fromEntries(entries)
}

function shownValue(value: unknown, named: Map<string, JsonSchema>): unknown {
  return typeof value === 'object' && value !== null ? shownSchema(value, named) : value
}

/** What TypeBox writes in a roundabout way, as readers and generators know it. */
function plainer(schema: Record<string, unknown>): JsonSchema {
  const { patternProperties, multipleOf, ...others } = schema
  if (patternProperties !== undefined) {
    const [values] = Object.values(patternProperties ?? {})
    return { ...others, additionalProperties: values }
  }
  if (multipleOf === 1) return { ...others, type: 'integer' }
  const { anyOf, ...about } = others
  return Array.isArray(anyOf) ? { ...about, ...joined(anyOf) } : schema
}

/** The texts of a union form one enumeration; null next to a plain type is a second type. */
function joined(anyOf: readonly JsonSchema[]): JsonSchema {
  const texts = anyOf.filter((one) => typeof one.const === 'string')
  const others = anyOf.filter((one) => typeof one.const !== 'string')
  const enumeration = { type: 'string', enum: texts.map((one) => one.const) }
  const kinds: readonly JsonSchema[] = texts.length === 0 ? others : [enumeration, ...others]
  const [first, second] = kinds
  if (first !== undefined && kinds.length === 1) return first
  const isNullable = kinds.length === 2 && second?.type === 'null'
  if (isNullable && typeof first?.type === 'string' && first.enum === undefined) {
    return { ...first, type: [first.type, 'null'] }
  }
  return { anyOf: kinds }
}
