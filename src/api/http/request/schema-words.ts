/**
 * Building blocks for schemas. The OpenAPI document contains a schema with `$id` once and refers to
 * it.
 */

import { type Static, type TSchema, t } from 'elysia'

/** The type of a record with this schema; records are read-only. */
export type Wire<S extends TSchema> = Frozen<Static<S>>

type Frozen<T> = T extends readonly (infer One)[]
  ? readonly Frozen<One>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T

type NumberOptions = NonNullable<Parameters<typeof t.Number>[0]>

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

/** A field of a body that may be missing, null or one of these words. */
export function maybeWord<const T extends string>(words: readonly T[]) {
  return t.Optional(t.Union([...words.map((word) => t.Literal(word)), t.Null()]))
}

/** A whole number. Elysia's `t.Integer` takes text as well, and compiles a check for each field. */
export function integer(about: NumberOptions = {}) {
  return t.Number({ ...about, multipleOf: 1 })
}

type Fields = Readonly<Record<string, TSchema>>
type ObjectOf<F extends Fields> = ReturnType<typeof t.Object<F>>

/** A schema with a name in the OpenAPI document. */
export function named<F extends Fields>(id: string, fields: F): ObjectOf<F>
export function named<F extends Fields>(id: string, about: string, fields: F): ObjectOf<F>
export function named<F extends Fields>(id: string, ...others: [F] | [string, F]) {
  const [fields, description] = others.length === 1 ? others : [others[1], others[0]]
  return t.Object(fields, { $id: id, ...(description === undefined ? {} : { description }) })
}

/** An object that refuses unknown fields. */
export function strict<F extends Fields>(fields: F): ObjectOf<F> {
  return t.Object(fields, { additionalProperties: false })
}

/** An object that ignores unknown fields. */
export function open<F extends Fields>(fields: F): ObjectOf<F> {
  return t.Object(fields, { additionalProperties: true })
}

/** One of these strings, for answers and documentation; bodies are checked with literals. */
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
export const COUNT = integer({ minimum: 0 })
export const FIELDS = t.Record(t.String(), t.Unknown())

const DOCUMENTED = Symbol('documented')

interface SchemaWords {
  readonly $id?: string
  readonly description?: string
}

/** Code that reads the value later gives better errors. The document shows `shape`. */
export function documentedAs<S extends TSchema>(checked: S, shape: TSchema): S {
  return { ...checked, [DOCUMENTED]: shape }
}

/** Only checked to be an object; documented as `shape`. */
export function anObject(shape: TSchema = FIELDS) {
  return documentedAs(t.Object({}), shape)
}

/** Checked later; documented as `shape`. */
export function optionally(shape: TSchema) {
  return t.Optional(documentedAs(t.Unknown(), shape))
}

export type JsonSchema = Readonly<Record<string, unknown>>

/** Keywords whose values are data, not schemas. */
const DATA = new Set(['const', 'default', 'enum', 'example', 'examples', 'required'])

/** A schema as the OpenAPI document shows it. @param named collects named schemas */
export function shownSchema(schema: object, named: Map<string, JsonSchema>): JsonSchema {
  // Any schema may have a shape.
  const { [DOCUMENTED]: shape, ...checked } = schema as Partial<{
    readonly [DOCUMENTED]: object
  }>
  if (shape !== undefined) {
    // JSON Schema keywords have their own types.
    const { description } = checked as SchemaWords
    const shown = shownSchema(shape, named)
    return description === undefined || '$ref' in shown ? shown : { ...shown, description }
  }
  // See above.
  const { $id, ...content } = checked as SchemaWords
  if ($id === undefined) return shownContent(content, named)
  if (!named.has($id)) {
    // Registered before its content, because a schema may contain itself.
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

/** Simplifies TypeBox's verbose forms for readers and code generators. */
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

/** Merges a union of strings into one enumeration, and adds null to a plain type. */
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
