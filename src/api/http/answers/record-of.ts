/**
 * Converts domain objects to the records that clients receive. A schema defines their fields and
 * order.
 */
import type { TSchema } from 'elysia'
import { isObject, type JsonObject } from '../../../core/json.ts'
import type { Wire } from '../request/schema-words.ts'

type Camel<S extends string> = S extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : S

interface ObjectSchema extends TSchema {
  readonly properties: Readonly<Record<string, TSchema>>
}

type Names<S extends ObjectSchema> = keyof S['properties'] & string

/**
 * Returns a function that builds a record from an object. `created_at` comes from `createdAt`, also
 * in nested objects; `own` defines fields that are named differently or computed.
 * @example recordOf<View>()(VIEW, { project: (view) => view.projectName })
 */
export function recordOf<Thing extends object>() {
  return <S extends ObjectSchema, Own extends string = never>(
    schema: S,
    own: { readonly [K in Own]: (thing: Thing) => unknown } = noneOf<Own, Thing>(),
  ) => {
    const makers = new Map<string, (thing: Thing) => unknown>(Object.entries(own))
    return (
      thing: Thing & { readonly [K in Exclude<Names<S>, Own> as Camel<K>]?: unknown },
    ): Wire<S> => {
      const fields = Object.keys(schema.properties).flatMap((name) => {
        const make = makers.get(name)
        const value = make === undefined ? ownValue(schema, thing, name) : make(thing)
        return value === undefined ? [] : [[name, value] as const]
      })
      // The fields are exactly those of the schema; tests check every answer against it.
      return Object.fromEntries(fields) as Wire<S>
    }
  }
}

function noneOf<Own extends string, Thing>() {
  // `Own` is `never`, so no entries are needed.
  return {} as { readonly [K in Own]: (thing: Thing) => unknown }
}

function ownValue({ properties }: ObjectSchema, thing: object, name: string): unknown {
  // The fields are read by name.
  const fields = thing as JsonObject
  const camel = camelOf(name)
  return shown(properties[name], camel in fields ? fields[camel] : fields[name])
}

function shown(schema: TSchema | undefined, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items: TSchema | undefined = schema?.items
    return isRecord(items) ? value.map((one) => shown(items, one)) : value
  }
  const variants: readonly TSchema[] = schema?.anyOf ?? (schema === undefined ? [] : [schema])
  const object = variants.find(isRecord)
  if (object === undefined || !isObject(value)) return value
  const names = Object.keys(object.properties)
  return Object.fromEntries(names.map((name) => [name, ownValue(object, value, name)]))
}

function isRecord(schema: TSchema | undefined): schema is ObjectSchema {
  return schema?.properties !== undefined
}

function camelOf(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
