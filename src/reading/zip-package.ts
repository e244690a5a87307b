import { crc32 } from 'node:zlib'
import { type UnzipFileInfo, unzipSync } from 'fflate'
import { AppError } from '../core/errors.ts'
import { READING_LIMITS } from './reading-limits.ts'

/** Deflate shrinks text to a tenth. What shrinks more than this is made to swell. */
const RATIO_MAX = 200
/** Below this many bytes the ratio says nothing: a long run of spaces is no bomb. */
const RATIO_COUNTS_FROM = 32 * 1024 * 1024

/** The names in a ZIP, in their order; null: it is none, or cut off. Nothing is inflated. */
export function zipNames(bytes: Uint8Array): readonly string[] | null {
  if (!beginsLikeZip(bytes)) return null
  try {
    return entriesOf(bytes).map((entry) => entry.name)
  } catch {
    return null
  }
}

export function beginsLikeZip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && (bytes[2] === 3 || bytes[2] === 5)
}

/**
 * The wanted entries of a ZIP, by name. What its directory says about sizes is checked before anything is inflated, and
 * holds for inflating too.
 * @throws AppError `file_unreadable` for a ZIP that is broken, or larger inside than is allowed; also where an entry is
 * not what was packed: one flipped byte can pass as text
 */
export function zipEntries(
  bytes: Uint8Array,
  isWanted: (name: string) => boolean,
): ReadonlyMap<string, Uint8Array> {
  try {
    const entries = entriesOf(bytes)
    refuseSwelling(entries.filter((entry) => isWanted(entry.name)))
    const checksums = checksumsIn(bytes)
    const expected = new Map(entries.map(({ name }, index) => [name, checksums[index]]))
    const parts = unzipSync(bytes, { filter: (entry) => isWanted(entry.name) })
    for (const [name, part] of Object.entries(parts)) {
      if (crc32(part) !== expected.get(name)) throw damagedPart(name)
    }
    return new Map(Object.entries(parts))
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    const next = 'it may be cut off or locked by a password; save it again without one'
    throw new AppError('file_unreadable', `The file is a damaged ZIP (${reason}); ${next}`, {
      cause,
    })
  }
}

function entriesOf(bytes: Uint8Array): readonly UnzipFileInfo[] {
  const entries: UnzipFileInfo[] = []
  unzipSync(bytes, {
    filter: (entry) => {
      if (entries.length >= READING_LIMITS.zipEntriesMax) {
        const limit = `a ZIP has at most ${READING_LIMITS.zipEntriesMax} entries`
        throw new AppError('file_unreadable', `The file holds too many parts: ${limit}`)
      }
      entries.push(entry)
      return false
    },
  })
  return entries
}

/** What the entries must have, in their order; fflate neither checks nor tells it. */
function checksumsIn(bytes: Uint8Array): readonly number[] {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'), zip.length - 22)
  let [count, at] = [zip.readUInt16LE(end + 8), zip.readUInt32LE(end + 16)]
  if (count === 0xffff || at === 0xffffffff) {
    const wide = zip.readUInt32LE(end - 12)
    if (zip.readUInt32LE(wide) === 0x06064b50) {
      count = zip.readUInt32LE(wide + 32)
      at = zip.readUInt32LE(wide + 48)
    }
  }
  const checksums: number[] = []
  while (checksums.length < count) {
    checksums.push(zip.readUInt32LE(at + 16))
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
  return checksums
}

/** Of a part that is there and not as it was packed. */
export function damagedPart(name: string): AppError {
  const message = `The file is damaged: its part ${name} is not what was packed (its checksum is wrong)`
  return new AppError('file_unreadable', `${message}; send it again, or save it again`)
}

function refuseSwelling(entries: readonly UnzipFileInfo[]): void {
  const packed = entries.reduce((sum, entry) => sum + entry.size, 0)
  const inflated = entries.reduce((sum, entry) => sum + entry.originalSize, 0)
  const isSwelling = inflated > RATIO_COUNTS_FROM && inflated > packed * RATIO_MAX
  if (inflated <= READING_LIMITS.inflatedBytesMax && !isSwelling) return
  const found = `${entries.length} parts of ${packed} bytes would unpack to ${inflated}`
  const limit = isSwelling ? `${RATIO_MAX} times` : `${READING_LIMITS.inflatedBytesMax} bytes`
  throw new AppError('file_unreadable', `The file swells: ${found}; at most ${limit} is read`)
}
