/**
 * The keys of a BIGINT column as numbers, without a heap BigInt for each. All platforms of Bun are
 * little-endian.
 * @throws Error for a key beyond 2^53, which no counter of ours reaches
 */
export function numbersOfKeys(keys: BigInt64Array): Float64Array {
  const halves = new Int32Array(keys.buffer, keys.byteOffset, keys.length * 2)
  const numbers = new Float64Array(keys.length)
  for (let index = 0; index < keys.length; index++) {
    const low = (halves[index * 2] ?? 0) >>> 0
    const number = (halves[index * 2 + 1] ?? 0) * 2 ** 32 + low
    if (!Number.isSafeInteger(number)) throw new Error(`chunk key ${keys[index]} is too large`)
    numbers[index] = number
  }
  return numbers
}
