import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { SourceFile } from '../core/domain/ports/reading-ports.ts'
import { AppError } from '../core/errors.ts'
import type { ReadingNotes } from './document-format.ts'
import { READING_LIMITS } from './reading-limits.ts'

/**
 * A file without the compression around it, as another file in the folder; the file itself where there is none.
 * @throws AppError `file_unreadable` for a file that is damaged or becomes too large
 */
export async function unpackedFile(
  source: SourceFile,
  folder: string,
  notes: ReadingNotes,
): Promise<SourceFile> {
  const file = Bun.file(source.path)
  const compression = compressionOf(await file.slice(0, 4).bytes())
  if (compression === null) return source
  const { unpackedBytesMax, unpackedFreely, unpackedPerByte } = READING_LIMITS
  const sizeMax = Math.min(unpackedBytesMax, Math.max(unpackedFreely, file.size * unpackedPerByte))
  const path = join(folder, 'unpacked')
  try {
    await pipeline(
      createReadStream(source.path),
      compression === 'gzip' ? createGunzip() : createZstdDecompress(),
      bounded(sizeMax),
      createWriteStream(path, { flags: 'wx', mode: 0o600 }),
    )
  } catch (error) {
    if (error instanceof AppError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new AppError(
      'file_unreadable',
      `The file could not be read: its ${compression} compression is damaged (${why})`,
      { cause: error },
    )
  }
  if (Bun.file(path).size === 0) throw new AppError('file_unreadable', 'The file is empty')
  notes.recognize({ compression })
  return { ...source, path, name: source.name.replace(/\.(gz|gzip|zst|zstd)$/i, '') }
}

function compressionOf(begin: Uint8Array): 'gzip' | 'zstd' | null {
  const [first, second, third, fourth] = begin
  if (first === 0x1f && second === 0x8b && third === 8) return 'gzip'
  const isZstd = first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd
  return isZstd ? 'zstd' : null
}

function bounded(sizeMax: number): Transform {
  let size = 0
  return new Transform({
    transform(piece: Uint8Array, _encoding, done) {
      size += piece.length
      if (size <= sizeMax) return done(null, piece)
      done(
        new AppError(
          'file_unreadable',
          `The file could not be read: unpacked it is larger than ${Math.floor(sizeMax / 1024 ** 2)} MiB, which is the most for its size`,
        ),
      )
    },
  })
}
