/** Keys as `keywordHits` reads them: ascending, and only those that a term's list can hold. */
export function ascendingKeys(keys: BigInt64Array): Uint32Array {
  // The lower and the upper half of each key: a processor that DuckDB runs on has the lower one first.
  const halves = new Uint32Array(keys.buffer, keys.byteOffset, keys.length * 2)
  const ascending = new Uint32Array(keys.length)
  let size = 0
  let isSorted = true
  let last = -1
  for (let index = 0; index < keys.length; index += 1) {
    if (halves[2 * index + 1] !== 0) continue
    const key = halves[2 * index] ?? 0
    if (key < last) isSorted = false
    last = key
    ascending[size] = key
    size += 1
  }
  const all = ascending.subarray(0, size)
  return isSorted ? all : all.sort()
}

/** The keys that are in both, each ascending. */
export function commonKeys(one: Uint32Array, other: Uint32Array): Uint32Array {
  const common = new Uint32Array(Math.min(one.length, other.length))
  let size = 0
  let index = 0
  for (const key of one) {
    while (index < other.length && (other[index] ?? 0) < key) index += 1
    if (other[index] !== key || index >= other.length) continue
    common[size] = key
    size += 1
  }
  return common.subarray(0, size)
}
