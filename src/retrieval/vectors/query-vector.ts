import { AppError } from '../../errors.ts'

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
