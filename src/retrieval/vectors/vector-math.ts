import { AppError } from '../../core/errors.ts'

/** What rounding its parts to float32 does to the length of a unit vector. */
const UNIT_TOLERANCE = 0.000005

/**
 * The vector with length 1.
 * @throws AppError `dimension_mismatch`, `sql_invalid_search` for a vector without a direction
 */
export function unitQueryVector(vector: Float32Array, dimensions: number): Float32Array {
  if (vector.length !== dimensions) {
    const sizes = `the query vector has ${vector.length}, those of the index ${dimensions}`
    throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
  }
  // First by the largest part, so that no square under- or overflows.
  let largest = 0
  for (const part of vector) largest = Math.max(largest, Math.abs(part))
  let squares = 0
  for (const part of vector) squares += (part / largest) ** 2
  const length = Math.sqrt(squares)
  if (!(largest > 0 && Number.isFinite(largest) && Number.isFinite(length))) {
    const message = 'A query vector has finite numbers that are not all zero'
    throw new AppError('sql_invalid_search', message)
  }
  // A unit vector stays what it is, to the last bit: other scans of it give the same distances.
  if (Math.abs(length * largest - 1) <= UNIT_TOLERANCE) return vector
  return vector.map((part) => part / largest / length)
}

/**
 * The cosine distance of two unit vectors to the last bit as `sql/subquery/distance-rows.ts` has DuckDB measure it: an inner
 * product in float32, added up from the first part to the last, so that a search in memory and a scan in the database give the same rows.
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
