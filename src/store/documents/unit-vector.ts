import { AppError } from '../../errors.ts'

/** The longest vector that an ARRAY column may hold, well under DuckDB's own limit of 100 000. */
export const DIMENSIONS_MAX = 65_536

/**
 * The vector with length 1, so that an inner product is a cosine.
 * @throws AppError `provider_failed` for a vector without a direction, `dimension_mismatch` for a
 * length out of bounds
 */
export function unitVector(vector: Float32Array, chunkId: string): Float32Array {
  if (vector.length > DIMENSIONS_MAX) {
    const sizes = `the model gives ${vector.length}, at most ${DIMENSIONS_MAX} can be stored`
    throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
  }
  let squares = 0
  for (const value of vector) squares += value * value
  const length = Math.sqrt(squares)
  if (!(length > 0 && Number.isFinite(length))) {
    const what = 'a vector that is zero or has parts that are no finite numbers'
    throw new AppError('provider_failed', `The embedding model gave ${what}, for chunk ${chunkId}`)
  }
  return vector.map((value) => value / length)
}
