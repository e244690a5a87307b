/** A map as bytes of a file: from one start to the next, since computing it takes seconds. */
import type { ChunkMap } from '../domain/ports/map-ports.ts'

/** Of which knowledge base: one of another time may have the same id. */
interface Owner {
  readonly createdAt: string
}

type Header = Pick<ChunkMap, 'version' | 'revision' | 'chunkCount' | 'seconds' | 'regions'> &
  Owner & { readonly format: string; readonly pointCount: number }

/** Another one where the bytes mean something else, or maps are made otherwise. */
const FORMAT = 'eider map 2'
const LENGTH_BYTES = 8
const CHECK_BYTES = 8

export function bytesOfMap(map: ChunkMap, { createdAt }: Owner): Uint8Array {
  const { keys, x, y, regionOf, ...rest } = map
  const header: Header = { format: FORMAT, createdAt, ...rest, pointCount: keys.length }
  const text = new TextEncoder().encode(JSON.stringify(header))
  const parts = [new Float64Array([text.length]), text, keys, x, y, regionOf].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  )
  return Buffer.concat([...parts, new Uint8Array(new BigUint64Array([checkOf(parts)]).buffer)])
}

/** null: they are not such bytes, not whole, or those of another knowledge base. */
export function mapOfBytes(bytes: Uint8Array, owner: Owner): ChunkMap | null {
  try {
    // A Buffer's slices would be views.
    return readMap(new Uint8Array(bytes), owner)
  } catch {
    return null
  }
}

function readMap(bytes: Uint8Array, { createdAt }: Owner): ChunkMap | null {
  const content = bytes.subarray(0, bytes.length - CHECK_BYTES)
  const [check] = new BigUint64Array(bytes.slice(content.length).buffer)
  if (check !== checkOf([content])) return null
  const [length = 0] = new Float64Array(bytes.slice(0, LENGTH_BYTES).buffer)
  const text = bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length)
  // Whole bytes with this format are ours.
  const header = JSON.parse(new TextDecoder().decode(text)) as Header
  if (header.format !== FORMAT || header.createdAt !== createdAt) return null
  const { format: _, createdAt: __, pointCount, ...rest } = header
  let at = LENGTH_BYTES + length
  const next = (size: number) => {
    const part = content.slice(at, at + size)
    at += size
    return part.buffer
  }
  const keys = new BigInt64Array(next(pointCount * 8))
  const x = new Uint16Array(next(pointCount * 2))
  const y = new Uint16Array(next(pointCount * 2))
  return { ...rest, keys, x, y, regionOf: new Uint16Array(next(pointCount * 2)) }
}

/** The parts one after the other have the check of the whole. */
function checkOf(parts: readonly Uint8Array[]): bigint {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest().readBigUInt64BE()
}
