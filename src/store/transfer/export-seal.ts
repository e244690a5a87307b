/**
 * The checksum within an exported Parquet file. It lies between the rows and the footer, where nothing refers to: readers find
 * the footer from the end of the file, and the rows by their offsets from its beginning.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { AppError } from '../../core/errors.ts'

const MARK = Buffer.from('eider-sha256')
const SEAL_BYTES = MARK.length + 32
/** The length of the footer and `PAR1`. */
const END_BYTES = 8
const PIECE_BYTES = 1024 * 1024

/** The bytes of a Parquet file with the checksum of all of them. Closes the file. */
export async function* sealedBytes(file: FileHandle): AsyncGenerator<Uint8Array, void, void> {
  try {
    const { size } = await file.stat()
    const footer = await footerStart(file, size)
    const hash = createHash('sha256')
    for await (const piece of piecesOf(file, 0, footer)) {
      hash.update(piece)
      yield piece
    }
    const rest = await bytesAt(file, footer, size - footer)
    yield Buffer.concat([MARK, hash.update(rest).digest()])
    yield rest
  } finally {
    await file.close()
  }
}

/**
 * Checks the file against its checksum, which exports of earlier versions do not have.
 * @throws AppError `file_unreadable` for a file that is not as it was written
 */
export async function checkSeal(path: string, signal: AbortSignal): Promise<void> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const footer = await footerStart(file, size)
    const start = footer - SEAL_BYTES
    if (start < 0) return
    const seal = await bytesAt(file, start, SEAL_BYTES)
    const marked = MARK.filter((byte, index) => seal[index] === byte).length
    // Other bytes are there by chance; a mark that is almost whole was damaged.
    if (marked < MARK.length / 2) return
    const hash = createHash('sha256')
    for await (const piece of piecesOf(file, 0, start)) {
      signal.throwIfAborted()
      hash.update(piece)
    }
    for await (const piece of piecesOf(file, footer, size)) hash.update(piece)
    const isSame = hash.digest().equals(seal.subarray(MARK.length))
    if (marked === MARK.length && isSame) return
    const message = 'The file could not be imported: its checksum does not match; export it again'
    throw new AppError('file_unreadable', message)
  } finally {
    await file.close()
  }
}

/** Where the footer begins; a file that is not Parquet has it at its end. */
async function footerStart(file: FileHandle, size: number): Promise<number> {
  if (size < END_BYTES) return size
  const end = await bytesAt(file, size - END_BYTES, END_BYTES)
  return Math.max(size - END_BYTES - end.readUInt32LE(0), 0)
}

async function* piecesOf(file: FileHandle, from: number, to: number): AsyncGenerator<Buffer> {
  for (let at = from; at < to; ) {
    const piece = await bytesAt(file, at, Math.min(PIECE_BYTES, to - at))
    if (piece.length === 0) return
    yield piece
    at += piece.length
  }
}

async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}
