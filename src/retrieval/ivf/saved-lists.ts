import type { Probing } from './inverted-lists.ts'

/** What a training has come to. */
export interface ListsReport {
  /** False: searches stay exact, as so much would have to be read that lists do not help. */
  readonly isWorthwhile: boolean
  readonly listCount: number
  /** Lists that a search for 10 neighbours reads. */
  readonly probeCount: number
  /** Measured with some of the base's own vectors, see `measuredRecall`. */
  readonly recallAt10: number
  /** Of all vectors, those in the lists that such a search reads. */
  readonly scannedShare: number
  readonly trainedMs: number
  /** Vectors at that time. */
  readonly vectorCount: number
}

/** Inverted lists as they are kept from one start to the next. */
export interface SavedLists {
  /** Of the knowledge base, when they were written. */
  readonly revision: number
  readonly dimensions: number
  /** Of the index, as it was asked for. */
  readonly options: Readonly<Record<string, number>>
  readonly report: ListsReport
  readonly probings: readonly Probing[]
  /** One after the other, each of unit length; none where lists are not worthwhile. */
  readonly centroids: Float32Array
  /** Of the chunks that are in a list. */
  readonly keys: Float64Array
  /** By index in `keys`. */
  readonly lists: Uint16Array
}

type Header = Omit<SavedLists, 'centroids' | 'keys' | 'lists'> & {
  readonly format: string
  readonly centroidCount: number
  readonly keyCount: number
}

/** Another one where the bytes mean something else. */
const LISTS_FORMAT = 'eider ivf 1'
const LENGTH_BYTES = 8
const CHECK_BYTES = 8

export function bytesOfLists({ centroids, keys, lists, ...rest }: SavedLists): Uint8Array {
  const header: Header = {
    ...{ format: LISTS_FORMAT, ...rest, keyCount: keys.length },
    centroidCount: centroids.length / rest.dimensions,
  }
  const text = new TextEncoder().encode(JSON.stringify(header))
  const length = new Float64Array([text.length])
  const content = [length, text, keys, centroids, lists].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  )
  const check = new BigUint64Array([checkOf(content)])
  return Buffer.concat([...content, new Uint8Array(check.buffer)])
}

/** null: they are not such bytes, or not whole. */
export function listsOfBytes(bytes: Uint8Array): SavedLists | null {
  try {
    // A Buffer's slices would be views.
    return readLists(new Uint8Array(bytes))
  } catch {
    return null
  }
}

function readLists(bytes: Uint8Array): SavedLists | null {
  const content = bytes.subarray(0, bytes.length - CHECK_BYTES)
  const [check] = new BigUint64Array(bytes.slice(content.length).buffer)
  if (check !== checkOf([content])) return null
  const [length = 0] = new Float64Array(bytes.slice(0, LENGTH_BYTES).buffer)
  const text = bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length)
  // Whole bytes with this format are ours.
  const header = JSON.parse(new TextDecoder().decode(text)) as Header
  if (header.format !== LISTS_FORMAT) return null
  const { format: _, centroidCount, keyCount, ...rest } = header
  let at = LENGTH_BYTES + length
  const next = (size: number) => {
    const part = content.slice(at, at + size)
    at += size
    return part.buffer
  }
  const keys = new Float64Array(next(keyCount * 8))
  const centroids = new Float32Array(next(centroidCount * header.dimensions * 4))
  const lists = new Uint16Array(next(keyCount * 2))
  const isWhole = at === content.length && lists.every((list) => list < centroidCount)
  return isWhole ? { ...rest, keys, centroids, lists } : null
}

/** The parts one after the other have the check of the whole. */
function checkOf(parts: readonly Uint8Array[]): bigint {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest().readBigUInt64BE()
}
