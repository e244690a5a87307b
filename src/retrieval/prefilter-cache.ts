import type { BoundSql, PrefilterSql } from '../domain/ports.ts'
import { LruMap } from '../runtime/lru-map.ts'

const BYTES_MAX = 32 * 1024 ** 2
/** Of one list: longer ones are read again. */
const LIST_BYTES_MAX = 4 * 1024 ** 2

interface KeyList {
  readonly revision: number
  readonly keys: BigInt64Array
}

/**
 * Keys that conditions kept, for the next search with the same conditions: those of a tenant, a
 * language, a source. Good until the knowledge base is written to.
 */
export class PrefilterCache {
  readonly #lists = new LruMap<string, KeyList>({ sizeMax: BYTES_MAX, sizeOf })

  get(kept: BoundSql, revision: number): BigInt64Array | undefined {
    const known = this.#lists.get(nameOf(kept))
    return known?.revision === revision ? known.keys : undefined
  }

  set(kept: PrefilterSql, list: KeyList): void {
    if (list.keys.byteLength > LIST_BYTES_MAX || !kept.isCacheable) return
    this.#lists.set(nameOf(kept), list)
  }
}

function sizeOf({ keys }: KeyList, name: string): number {
  return name.length * 2 + keys.byteLength + 200
}

function nameOf({ sql, values }: BoundSql): string {
  const texts = Object.entries(values).map(([name, value]) => {
    return [name, value instanceof Float32Array ? [...value] : value]
  })
  return JSON.stringify([sql, texts], (_, value) => {
    return typeof value === 'bigint' ? `${value}n` : value
  })
}
