/** A map with limited room: the least recently used entry goes first. */
export class LruMap<Key, Value> {
  readonly #values = new Map<Key, Value>()
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
    const value = this.#values.get(key)
    if (value === undefined) return undefined
    // A Map keeps insertion order.
    this.#values.delete(key)
    this.#values.set(key, value)
    return value
  }

  /** An entry larger than the total limit is not kept. */
  set(key: Key, value: Value): void {
    this.delete(key)
    const size = this.#sizeOf(value, key)
    if (size > this.#sizeMax) return
    this.#values.set(key, value)
    this.#size += size
    for (const oldest of this.#values.keys()) {
      if (this.#size <= this.#sizeMax) return
      this.delete(oldest)
    }
  }

  /** Most recently used last. */
  values(): IterableIterator<Value> {
    return this.#values.values()
  }

  delete(key: Key): void {
    const value = this.#values.get(key)
    if (value === undefined) return
    this.#values.delete(key)
    this.#size -= this.#sizeOf(value, key)
  }
}
