/** A file format for derived data: a JSON header, arrays, and a checksum over both. */

const LENGTH_BYTES = 8
const CHECK_BYTES = 8

export function checkedBytes(header: object, arrays: readonly ArrayBufferView[]): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(header))
  const parts = [new Float64Array([text.length]), text, ...arrays].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  )
  return Buffer.concat([...parts, new Uint8Array(new BigUint64Array([checkOf(parts)]).buffer)])
}

/** null if incomplete or of another format. @param read gets header and arrays by `next` */
export function ofCheckedBytes<Header, T>(
  bytes: Uint8Array,
  read: (header: Header, next: (size: number) => ArrayBuffer) => T | null,
): T | null {
  try {
    // Copied because slices of a Buffer share its memory.
    const own = new Uint8Array(bytes)
    const content = own.subarray(0, own.length - CHECK_BYTES)
    const [check] = new BigUint64Array(own.slice(content.length).buffer)
    if (check !== checkOf([content])) return null
    const [length = 0] = new Float64Array(own.slice(0, LENGTH_BYTES).buffer)
    const text = own.subarray(LENGTH_BYTES, LENGTH_BYTES + length)
    let at = LENGTH_BYTES + length
    // The checksum matched and the format is known, so Eider wrote this header itself.
    const found = read(JSON.parse(new TextDecoder().decode(text)) as Header, (size) => {
      at += size
      return content.slice(at - size, at).buffer
    })
    return at === content.length ? found : null
  } catch {
    return null
  }
}

/** The check covers all parts in sequence. */
function checkOf(parts: readonly Uint8Array[]): bigint {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest().readBigUInt64BE()
}
