/** A map with a size limit that drops the least recently used entries first. */
export class LruMap<Key, Value> {
  /** The size of each value when it was set; the value may have grown since. */
  readonly #entries = new Map<Key, { readonly value: Value; readonly size: number }>()
  readonly #sizeMax: number
  readonly #sizeOf: (value: Value, key: Key) => number
  #size = 0

  /** @param options without `sizeOf`, each value counts as one of `sizeMax` */
  constructor(options: {
    readonly sizeMax: number
    readonly sizeOf?: (value: Value, key: Key) => number
  }) {
    this.#sizeMax = options.sizeMax
    this.#sizeOf = options.sizeOf ?? (() => 1)
  }

  get size(): number {
    return this.#size
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // A Map keeps insertion order, so re-inserting makes the key the newest.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** A value larger than the limit is not kept. Setting a key again counts the new size. */
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

  /** The most recently used comes last. */
  *values(): Generator<Value, void> {
    for (const { value } of this.#entries.values()) yield value
  }

  delete(key: Key): void {
    this.#size -= this.#entries.get(key)?.size ?? 0
    this.#entries.delete(key)
  }
}
