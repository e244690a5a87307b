import type { BoundSql } from '../domain/ports.ts'

const BYTES_MAX = 32 * 1024 ** 2
/** Of one list: longer ones are read again. */
const LIST_BYTES_MAX = 4 * 1024 ** 2

interface KeyList {
  readonly revision: number
  readonly keys: BigInt64Array
}

/** What these mean differs from one statement to the next. */
const OF_THE_MOMENT = /now|current|today|time|\bage?\b|\bago\b/i

/**
 * Keys that conditions kept, for the next search with the same conditions: those of a tenant, a
 * language, a source. Good until the knowledge base is written to.
 */
export class RecentKeyLists {
  readonly #lists = new Map<string, KeyList>()
  #bytes = 0

  get(kept: BoundSql, revision: number): BigInt64Array | undefined {
    const name = nameOf(kept)
    const known = this.#lists.get(name)
    if (known === undefined) return undefined
    this.#remove(name, known)
    if (known.revision !== revision) return undefined
    this.#add(name, known)
    return known.keys
  }

  set(kept: BoundSql, list: KeyList): void {
    if (list.keys.byteLength > LIST_BYTES_MAX || OF_THE_MOMENT.test(kept.sql)) return
    const name = nameOf(kept)
    const known = this.#lists.get(name)
    if (known !== undefined) this.#remove(name, known)
    this.#add(name, list)
    for (const [oldest, { keys }] of this.#lists) {
      if (this.#bytes <= BYTES_MAX) break
      this.#remove(oldest, { keys })
    }
  }

  #add(name: string, list: KeyList): void {
    this.#lists.set(name, list)
    this.#bytes += sizeOf(name, list)
  }

  #remove(name: string, list: Pick<KeyList, 'keys'>): void {
    this.#lists.delete(name)
    this.#bytes -= sizeOf(name, list)
  }
}

function sizeOf(name: string, { keys }: Pick<KeyList, 'keys'>): number {
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
