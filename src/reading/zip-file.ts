import { createReadStream } from 'node:fs'
import { crc32 } from 'node:zlib'
import { type UnzipFileInfo, unzipSync } from 'fflate'
import {
  type Entry,
  fromRandomAccessReader,
  getFileNameLowLevel,
  open,
  RandomAccessReader,
  type ZipFile,
} from 'yauzl'
import { AppError } from '../core/errors.ts'
import { unreadable } from './document-format.ts'
import { READING_LIMITS } from './reading-limits.ts'

interface WalkedEntry {
  readonly entry: Entry
  readonly zip: ZipFile
}

/** The next is read when the previous one was consumed. @throws Error for other files */
export async function* zipFileEntries(path: string): AsyncGenerator<WalkedEntry, void> {
  const zip = await opened(path)
  try {
    for (;;) {
      const next = Promise.withResolvers<Entry | null>()
      const onEntry = (entry: Entry) => next.resolve(entry)
      const onEnd = () => next.resolve(null)
      const onError = (error: Error) => next.reject(error)
      zip.once('entry', onEntry).once('end', onEnd).once('error', onError)
      zip.readEntry()
      const entry = await next.promise
      zip.off('entry', onEntry).off('end', onEnd).off('error', onError)
      if (entry === null) return
      yield { entry, zip }
    }
  } finally {
    zip.close()
  }
}

/** @throws DamagedEntry after the last piece, if it differs from the packed file; Error */
export async function* piecesOfEntry({ entry, zip }: WalkedEntry): AsyncGenerator<Uint8Array> {
  const begun = Promise.withResolvers<NodeJS.ReadableStream>()
  zip.openReadStream(entry, (error, stream) => {
    if (error) begun.reject(error)
    else begun.resolve(stream)
  })
  let checksum = 0
  for await (const piece of await begun.promise) {
    if (!(piece instanceof Uint8Array)) continue
    checksum = crc32(piece, checksum)
    yield piece
  }
  // yauzl leaves this check to its users.
  if (checksum !== entry.crc32) throw new DamagedEntry('its checksum is wrong')
}

/** `piecesOfEntry` for an entry found earlier, in a ZIP that was closed since. */
export async function* piecesAgain(path: string, entry: Entry): AsyncGenerator<Uint8Array> {
  const zip = await opened(path)
  try {
    yield* piecesOfEntry({ entry, zip })
  } finally {
    zip.close()
  }
}

export class DamagedEntry extends Error {}

export function isLocked({ generalPurposeBitFlag }: Entry): boolean {
  return (generalPurposeBitFlag & 1) !== 0
}

/** Returns the original name, in the encoding that the entry declares. */
export function nameOfEntry({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string {
  return getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false).toWellFormed()
}

const OPTIONS = { lazyEntries: true, autoClose: false, decodeStrings: false } as const

async function opened(path: string): Promise<ZipFile> {
  const size = await endOfZip(path)
  const found = Promise.withResolvers<ZipFile>()
  const onOpen = (error: Error | null, zip: ZipFile) => {
    if (error) found.reject(error)
    else found.resolve(zip)
  }
  if (size === null) open(path, OPTIONS, onOpen)
  else fromRandomAccessReader(new FileRanges(path), size, OPTIONS, onOpen)
  const zip = await found.promise
  // Later failures are ignored.
  zip.on('error', () => {})
  return zip
}

const END_RECORD = Buffer.from('PK\x05\x06', 'latin1')
const END_RECORD_BYTES = 22
/** The record and the longest comment. */
const END_BYTES_MAX = END_RECORD_BYTES + 65_535

/** Programs append a line end or zeros, which yauzl refuses. null if the ZIP ends with the file. */
async function endOfZip(path: string): Promise<number | null> {
  const file = Bun.file(path)
  const start = Math.max(0, file.size - END_BYTES_MAX)
  const tail = Buffer.from(await file.slice(start).bytes())
  const at = tail.lastIndexOf(END_RECORD)
  if (at < 0 || at + END_RECORD_BYTES > tail.length) return null
  const end = start + at + END_RECORD_BYTES + tail.readUInt16LE(at + END_RECORD_BYTES - 2)
  return end < file.size ? end : null
}

class FileRanges extends RandomAccessReader {
  readonly #path: string

  constructor(path: string) {
    super()
    this.#path = path
  }

  override _readStreamForRange(start: number, end: number) {
    return createReadStream(this.#path, { start, end: end - 1 })
  }
}

/** Deflate shrinks text to a tenth. A ratio higher than this indicates a ZIP bomb. */
const RATIO_MAX = 200
/** Below this many bytes the ratio does not matter, because a long run of spaces is not a bomb. */
const RATIO_COUNTS_FROM = 32 * 1024 * 1024

/** The names in a ZIP in order; null if it is not a ZIP, or truncated. Nothing is unpacked. */
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
 * Returns the requested entries of a ZIP by name. The sizes in its directory are checked before
 * unpacking, and enforced during it.
 * @throws AppError `file_unreadable` for a ZIP that is broken, or too large when unpacked; also if
 * an entry differs from what was packed, because one flipped byte can pass as text
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
    throw unreadable(`The file is a damaged ZIP (${reason}); ${next}`, cause)
  }
}

function entriesOf(bytes: Uint8Array): readonly UnzipFileInfo[] {
  const entries: UnzipFileInfo[] = []
  unzipSync(bytes, {
    filter: (entry) => {
      if (entries.length >= READING_LIMITS.zipEntriesMax) {
        const limit = `a ZIP has at most ${READING_LIMITS.zipEntriesMax} entries`
        throw unreadable(`The file holds too many parts: ${limit}`)
      }
      entries.push(entry)
      return false
    },
  })
  return entries
}

/** Returns the checksums of the entries in order, which fflate neither checks nor returns. */
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

export function damagedPart(name: string): AppError {
  const message = `The file is damaged: its part ${name} is not what was packed (its checksum is wrong)`
  return unreadable(`${message}; send it again, or save it again`)
}

function refuseSwelling(entries: readonly UnzipFileInfo[]): void {
  const packed = entries.reduce((sum, entry) => sum + entry.size, 0)
  const inflated = entries.reduce((sum, entry) => sum + entry.originalSize, 0)
  const isSwelling = inflated > RATIO_COUNTS_FROM && inflated > packed * RATIO_MAX
  if (inflated <= READING_LIMITS.inflatedBytesMax && !isSwelling) return
  const found = `${entries.length} parts of ${packed} bytes would unpack to ${inflated}`
  const limit = isSwelling ? `${RATIO_MAX} times` : `${READING_LIMITS.inflatedBytesMax} bytes`
  throw unreadable(`The file expands too much: ${found}; at most ${limit} is read`)
}
