/** A map with limited room: the least recently used entry goes first. */
export class LruMap<Key, Value> {
  /** Each with its size when it was set: the value may have grown since. */
  readonly #entries = new Map<Key, { readonly value: Value; readonly size: number }>()
  readonly #sizeMax: number
  readonly #sizeOf: (value: Value, key: Key) => number
  #size = 0

  /** @param options `sizeMax`: of all values together; `sizeOf`: unset, each value counts as one */
  constructor(options: {
    readonly sizeMax: number
    readonly sizeOf?: (value: Value, key: Key) => number
  }) {
    this.#sizeMax = options.sizeMax
    this.#sizeOf = options.sizeOf ?? (() => 1)
  }

  /** The total size of the values. */
  get size(): number {
    return this.#size
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // A Map keeps insertion order.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** An entry larger than the total limit is not kept. Set again after it has grown, it counts with its new size. */
  set(key: Key, value: Value): void {
    this.delete(key)
    const size = this.#sizeOf(value, key)
    if (size > this.#sizeMax) return
    this.#entries.set(key, { value, size })
    this.#size += size
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#sizeMax) return
      this.delete(oldest)
    }
  }

  /** Most recently used last. */
  *values(): Generator<Value, void> {
    for (const { value } of this.#entries.values()) yield value
  }

  delete(key: Key): void {
    this.#size -= this.#entries.get(key)?.size ?? 0
    this.#entries.delete(key)
  }
}
