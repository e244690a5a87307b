/** A ZIP where it lies: its entries, and each as a stream, so that none of it is ever held whole. */
import { createReadStream } from 'node:fs'
import { crc32 } from 'node:zlib'
import {
  type Entry,
  fromRandomAccessReader,
  getFileNameLowLevel,
  open,
  RandomAccessReader,
  type ZipFile,
} from 'yauzl'

interface WalkedEntry {
  readonly entry: Entry
  readonly zip: ZipFile
}

/** The entries in their order; the next is looked for when the one before is done with. @throws Error for what is no ZIP */
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

/**
 * What an entry unpacks to, piece by piece.
 * @throws DamagedEntry after the last piece, where it is not what was packed; Error where it cannot be unpacked, or is not as
 * long as the directory says
 */
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
  // yauzl leaves this to its users.
  if (checksum !== entry.crc32) throw new DamagedEntry('its checksum is wrong')
}

/** The same of an entry that was found before, by a ZIP that is closed by now. */
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

/** The name as it was written, by the encoding that the entry declares. */
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
  // Nobody waits for what fails afterwards.
  zip.on('error', () => {})
  return zip
}

const END_RECORD = Buffer.from('PK\x05\x06', 'latin1')
const END_RECORD_BYTES = 22
/** The record and the longest comment. */
const END_BYTES_MAX = END_RECORD_BYTES + 65_535

/**
 * Where the ZIP ends, if that is before the file does: some programs leave a line end or zeros behind it, which every other
 * reader takes and yauzl refuses. null: it ends where the file does, or yauzl will say what it is.
 */
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
