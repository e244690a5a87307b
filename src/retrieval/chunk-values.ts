/** Caches metadata values by chunk, and finds the chunks that meet a condition. */
import {
  type ColumnCondition,
  type ConditionColumn,
  conditionValue,
} from '../core/domain/column-condition.ts'
import type { BoundValue, PrefilterSql } from '../core/domain/ports/engine-ports.ts'
import type { CommittedWrite } from '../core/domain/ports/retrieval-ports.ts'
import { textHash } from '../core/text/words.ts'
import { KeyRows, numbersOfKeys } from './vectors/row-table.ts'

/** If more chunks changed, all values are read again. */
const CHANGED_MAX = 2_000

const NO_KEYS = new BigInt64Array()
const GONE = -1

/** One value per chunk, at the chunk's position. NaN means no value. */
interface ValueColumn extends ConditionColumn {
  values: Float64Array
  /** The number that stands for each word. */
  readonly words: Map<string, number>
}

export class ChunkValues {
  /** By column name; null if numbers cannot represent its values. */
  readonly columns = new Map<string, ValueColumn | null>()
  readonly changed = new Set<number>()
  readonly #places = new KeyRows()
  #keys = new Float64Array()
  #count = 0
  #revision: number

  constructor(revision: number) {
    this.#revision = revision
  }

  static bytesOf(chunkCount: number, columnCount: number): number {
    // For each chunk: a key, its position, and a value per column.
    return chunkCount * (8 + 4 + 8 * columnCount)
  }

  get revision(): number {
    return this.#revision
  }

  get bytes(): number {
    return ChunkValues.bytesOf(this.#keys.length, this.columns.size)
  }

  get keys(): Float64Array {
    return this.#keys.subarray(0, this.#count)
  }

  get comparable(): readonly ConditionColumn[] {
    return [...this.columns.values()].filter((column) => column !== null)
  }

  placeOf(key: number): number | undefined {
    return this.#places.get(key)
  }

  wordsOf(column: ConditionColumn): Map<string, number> {
    return this.#column(column)?.words ?? new Map()
  }

  refuse({ name }: ConditionColumn): void {
    this.columns.set(name, null)
  }

  /** Stores values. Infinity means that a number cannot represent the value. */
  put(column: ConditionColumn, keys: BigInt64Array, values: Float64Array): void {
    const known = this.#column(column)
    for (const [index, key] of numbersOfKeys(keys).entries()) {
      const value = values[index] ?? Number.NaN
      if (value === Number.POSITIVE_INFINITY) {
        this.refuse(column)
        return
      }
      const place = this.#places.get(key) ?? this.#add(key)
      if (known !== null) known.values[place] = value
    }
  }

  /** Returns and clears the changed chunks, which the caller reads now. */
  takeChanged(): readonly bigint[] {
    const keys = [...this.changed].map(BigInt)
    this.changed.clear()
    return keys
  }

  /** Applies a write. Returns false if everything must be read again. */
  apply({ revision, changed }: CommittedWrite): boolean {
    if (changed === null || revision !== this.#revision + 1) return false
    this.#revision = revision
    for (const key of numbersOfKeys(changed.removedKeys ?? NO_KEYS)) {
      const place = this.#places.get(key)
      if (place !== undefined) this.#keys[place] = GONE
      this.#places.delete(key)
    }
    for (const keys of [changed.keys, changed.rewrittenKeys]) {
      for (const key of numbersOfKeys(keys ?? NO_KEYS)) this.changed.add(key)
    }
    return this.changed.size <= CHANGED_MAX && this.#places.size * 2 >= this.#count
  }

  #column(column: ConditionColumn): ValueColumn | null {
    const known = this.columns.get(column.name)
    if (known !== undefined) return known
    const values = new Float64Array(this.#keys.length).fill(Number.NaN)
    const added = { ...column, values, words: new Map<string, number>() }
    this.columns.set(column.name, added)
    return added
  }

  #add(key: number): number {
    const place = this.#count
    if (place === this.#keys.length) this.#grow()
    this.#count += 1
    this.#keys[place] = key
    this.#places.set(key, place)
    return place
  }

  #grow(): void {
    const length = Math.max(1_024, this.#keys.length * 2)
    const grown = (numbers: Float64Array) => {
      const longer = new Float64Array(length).fill(Number.NaN)
      longer.set(numbers)
      return longer
    }
    this.#keys = grown(this.#keys)
    for (const column of this.columns.values()) {
      if (column !== null) column.values = grown(column.values)
    }
  }
}

/** The chunks that meet conditions, for one state of their knowledge base. */
export interface KeptChunks {
  readonly count: number
  keys(): BigInt64Array
  has(key: bigint): boolean
}

/** AND is the minimum, OR the maximum, NOT reverses. Unknown: a comparison with NULL. */
const FALSE = 0
const UNKNOWN = 1
const TRUE = 2

/** Null if memory cannot compare one of the values. */
export function keptChunks(
  { condition, values: bound }: PrefilterSql,
  values: ChunkValues,
): KeptChunks | null {
  const truths = condition && new ConditionCheck(values, bound).truths(condition, false)
  if (truths === null) return null
  const { keys } = values
  let count = 0
  for (let place = 0; place < keys.length; place += 1) {
    if (truths[place] === TRUE && keys[place] !== GONE) count += 1
  }
  return {
    count,
    keys: () => keysWhere(keys, truths, count),
    has: (key) => truths[values.placeOf(Number(key)) ?? keys.length] === TRUE,
  }
}

/** Written as 32-bit halves, because a BigInt per key would take ten times as long. */
function keysWhere(keys: Float64Array, truths: Uint8Array, count: number): BigInt64Array {
  const kept = new BigInt64Array(count)
  const halves = new Int32Array(kept.buffer)
  let at = 0
  for (let place = 0; place < keys.length; place += 1) {
    if (truths[place] !== TRUE) continue
    const key = keys[place] ?? GONE
    if (key === GONE) continue
    halves[at] = key
    halves[at + 1] = key / 2 ** 32
    at += 2
  }
  return kept
}

/**
 * Loops over all chunks are written out, because a call per value would take five times as long.
 */
class ConditionCheck {
  readonly #values: ChunkValues
  readonly #bound: PrefilterSql['values']

  constructor(values: ChunkValues, bound: PrefilterSql['values']) {
    this.#values = values
    this.#bound = bound
  }

  /** For each position; null if memory cannot compare a value. */
  truths(condition: ColumnCondition, isNegated: boolean): Uint8Array | null {
    switch (condition.kind) {
      case 'and':
        return this.#joined(condition.parts, isNegated, isNegated)
      case 'or':
        return this.#joined(condition.parts, isNegated, !isNegated)
      case 'not':
        return this.truths(condition.part, !isNegated)
      case 'certain':
        return certain(this.truths(condition.part, false), isNegated)
      case 'null':
        return this.#missing(condition.column, isNegated)
      case 'in':
        return this.#oneOf(condition, isNegated)
      default:
        return this.#compared(condition.kind, condition, isNegated)
    }
  }

  #joined(parts: readonly ColumnCondition[], isNegated: boolean, isOr: boolean): Uint8Array | null {
    let joined: Uint8Array | null = null
    for (const part of parts) {
      const truths = this.truths(part, isNegated)
      if (truths === null) return null
      if (joined === null) joined = truths
      else if (isOr) takeGreater(joined, truths)
      else takeLesser(joined, truths)
    }
    return joined
  }

  #missing(column: ConditionColumn, isNegated: boolean): Uint8Array | null {
    const values = this.#valuesOf(column)
    if (values === null) return null
    const [ofNone, ofSome] = isNegated ? [FALSE, TRUE] : [TRUE, FALSE]
    const truths = new Uint8Array(values.length)
    for (let place = 0; place < truths.length; place += 1) {
      truths[place] = Number.isNaN(values[place]) ? ofNone : ofSome
    }
    return truths
  }

  #oneOf({ column, value }: ComparedColumn, isNegated: boolean): Uint8Array | null {
    const list = conditionValue(value, this.#bound)
    const values = this.#valuesOf(column)
    if (values === null || !Array.isArray(list)) return null
    const numbers = new Set<number>()
    for (const item of list) {
      const number = this.#numberOf(column, item)
      if (number === null) return null
      numbers.add(number)
    }
    const [inside, outside] = isNegated ? [FALSE, TRUE] : [TRUE, FALSE]
    const truths = new Uint8Array(values.length)
    for (let place = 0; place < truths.length; place += 1) {
      const one = values[place] ?? Number.NaN
      if (Number.isNaN(one)) truths[place] = UNKNOWN
      else truths[place] = numbers.has(one) ? inside : outside
    }
    return truths
  }

  #compared(
    kind: '=' | '<' | '<=',
    { column, value }: ComparedColumn,
    isNegated: boolean,
  ): Uint8Array | null {
    const limit = this.#numberOf(column, conditionValue(value, this.#bound))
    const values = this.#valuesOf(column)
    if (values === null || limit === null) return null
    const [holds, fails] = isNegated ? [FALSE, TRUE] : [TRUE, FALSE]
    const below = kind === '=' ? fails : holds
    const equal = kind === '<' ? fails : holds
    const truths = new Uint8Array(values.length)
    for (let place = 0; place < truths.length; place += 1) {
      const one = values[place] ?? Number.NaN
      truths[place] = one < limit ? below : one > limit ? fails : one === limit ? equal : UNKNOWN
    }
    return truths
  }

  #valuesOf({ name }: ConditionColumn): Float64Array | null {
    const values = this.#values.columns.get(name)?.values
    return values?.subarray(0, this.#values.keys.length) ?? null
  }

  /** The number for a value; null if the database compares it in its own way, or refuses it. */
  #numberOf({ name, kind }: ConditionColumn, value: BoundValue | undefined): number | null {
    switch (kind) {
      case 'number':
        return typeof value === 'number' && Number.isFinite(value) ? value : null
      case 'truth':
        return typeof value === 'boolean' ? Number(value) : null
      case 'word':
        // Words are numbered from 0.
        return typeof value === 'string'
          ? (this.#values.columns.get(name)?.words.get(value) ?? -1)
          : null
      case 'hash':
        return typeof value === 'string' ? textHash(value) : null
      case 'day':
        return typeof value === 'string' && DAY.test(value) ? microsOf(value) : null
      case 'time':
        return typeof value === 'string' && TIME.test(value) ? microsOf(value) : null
    }
  }
}

type ComparedColumn = Extract<ColumnCondition, { readonly value: unknown }>

function takeGreater(truths: Uint8Array, others: Uint8Array): void {
  for (let place = 0; place < truths.length; place += 1) {
    const other = others[place] ?? FALSE
    if (other > (truths[place] ?? FALSE)) truths[place] = other
  }
}

function takeLesser(truths: Uint8Array, others: Uint8Array): void {
  for (let place = 0; place < truths.length; place += 1) {
    const other = others[place] ?? FALSE
    if (other < (truths[place] ?? FALSE)) truths[place] = other
  }
}

function certain(truths: Uint8Array | null, isNegated: boolean): Uint8Array | null {
  if (truths === null) return null
  const [known, unknown] = isNegated ? [FALSE, TRUE] : [TRUE, FALSE]
  for (let place = 0; place < truths.length; place += 1) {
    truths[place] = truths[place] === TRUE ? known : unknown
  }
  return truths
}

const DAY = /^\d{4}-\d{2}-\d{2}$/
const TIME = /^\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?)?$/

/** Microseconds since 1970; null for an invalid date. */
function microsOf(text: string): number | null {
  const [day = '', time = '00:00:00'] = text.split(/[ T]/)
  const millis = Date.parse(`${day}T${time}Z`)
  const isReal = !Number.isNaN(millis) && new Date(millis).toISOString().startsWith(day)
  return isReal ? millis * 1_000 : null
}
