/**
 * The cosine distance of two unit vectors to the last bit as `sql/subquery/distance-rows.ts` has DuckDB measure it: an inner
 * product in float32, added up from the first part to the last, so that a search gives the same rows whoever finds them.
 * A test compares it with DuckDB's own.
 * @returns 0 to 2
 */
export function databaseDistance(one: Float32Array, other: Float32Array): number {
  let product = 0
  for (let index = 0; index < one.length; index += 1) {
    const part = Math.fround((one[index] ?? 0) * (other[index] ?? 0))
    product = Math.fround(product + part)
  }
  return Math.min(2, Math.max(0, Math.fround(1 - product)))
}
