import { ascendingKeys } from './keyword-hits.ts'

/** Of all writes that are remembered, of one knowledge base. */
const KEYS_MAX = 100_000
const WRITES_MAX = 1_000

interface Removal {
  readonly revision: number
  readonly keys: BigInt64Array
}

/**
 * The chunks that the last writes have removed, for posting lists that were made before. Revisions follow each other without
 * a gap: where the removals of one are not known, those before it are forgotten.
 */
export class Tombstones {
  readonly #removals = new Map<number, Removal[]>()

  /** @param keys null: not known */
  note(id: number, revision: number, keys: BigInt64Array | null): void {
    const known = this.#removals.get(id) ?? []
    const isNext = known.length === 0 || known.at(-1)?.revision === revision - 1
    if (keys === null || !isNext) this.#removals.delete(id)
    if (keys === null) return
    const removals = isNext ? [...known, { revision, keys }] : [{ revision, keys }]
    this.#removals.set(id, recentRemovals(removals))
  }

  /**
   * Those that the revisions after `from` have removed, up to `to`, ascending.
   * @returns null when that is not known of each of them
   */
  between(id: number, from: number, to: number): Uint32Array | null {
    const removals = this.#removals.get(id) ?? []
    const since = removals.filter(({ revision }) => revision > from && revision <= to)
    if (since.length !== to - from) return null
    const keys = since.flatMap((removal) => [...ascendingKeys(removal.keys)])
    return Uint32Array.from(keys).sort()
  }

  forget(id: number): void {
    this.#removals.delete(id)
  }
}

function recentRemovals(removals: Removal[]): Removal[] {
  let count = removals.reduce((sum, { keys }) => sum + keys.length, 0)
  let first = 0
  while (first < removals.length && (count > KEYS_MAX || removals.length - first > WRITES_MAX)) {
    count -= removals[first]?.keys.length ?? 0
    first += 1
  }
  return removals.slice(first)
}
