/** Unpacks a ZIP of other files, whose members become separate files. Runs in a reader process. */
import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Entry } from 'yauzl'
import type { ReadArchive, ReadMember } from '../core/domain/ports/reading-ports.ts'
import { AppError, errorText } from '../core/errors.ts'
import { couldNotRead } from './document-format.ts'
import { READING_LIMITS } from './reading-limits.ts'
import { DamagedEntry, isLocked, nameOfEntry, piecesOfEntry, zipFileEntries } from './zip-file.ts'

/** Files in a ZIP that operating systems and programs add. */
const LEFT_OUT = /(^|\/)(__MACOSX\/.*|\.DS_Store|\._[^/]*|Thumbs\.db|desktop\.ini|\.git\/.*)$/i

/** Reports a member that fails. @throws AppError `file_unreadable` for a broken ZIP */
export async function readArchive(path: string, folder: string): Promise<ReadArchive> {
  const { size } = await stat(path)
  try {
    const entries = await entriesOf(path, size)
    return await unpacked(path, entries, folder)
  } catch (error) {
    if (error instanceof AppError) throw error
    const reason = errorText(error)
    throw couldNotRead(`the ZIP is damaged (${reason}); make it again`, error)
  }
}

/** Reads the directory of the ZIP without unpacking anything. */
async function entriesOf(path: string, zipBytes: number): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  let inflatedBytes = 0
  for await (const { entry } of zipFileEntries(path)) {
    entries.push(entry)
    inflatedBytes += entry.uncompressedSize
    if (entries.length > READING_LIMITS.zipEntriesMax) {
      throw couldNotRead(`a ZIP has at most ${READING_LIMITS.zipEntriesMax} entries`)
    }
    const isSwelling =
      inflatedBytes > READING_LIMITS.unpackedFreely + READING_LIMITS.unpackedPerByte * zipBytes
    if (isSwelling || inflatedBytes > READING_LIMITS.unpackedBytesMax) {
      throw couldNotRead('its members unpack to more than is plausible')
    }
  }
  return entries
}

async function unpacked(
  path: string,
  entries: readonly Entry[],
  folder: string,
): Promise<ReadArchive> {
  const members: ReadMember[] = []
  let skipped = 0
  let index = 0
  for await (const { entry, zip } of zipFileEntries(path)) {
    index += 1
    const name = entryName(entry)
    if (name.endsWith('/') || LEFT_OUT.test(name)) {
      skipped += 1
      continue
    }
    const target = join(folder, `member-${index}`)
    const failure = isLocked(entry)
      ? 'It is locked by a password; pack it without one'
      : await unpackedMember(piecesOfEntry({ entry, zip }), target)
    const sizeBytes = failure === null ? entry.uncompressedSize : 0
    members.push({ name, path: target, sizeBytes, failure })
  }
  if (index !== entries.length) throw new Error('its directory changed')
  return { members, skipped }
}

async function unpackedMember(
  pieces: AsyncIterable<Uint8Array>,
  target: string,
): Promise<string | null> {
  try {
    await pipeline(pieces, createWriteStream(target, { flags: 'wx', mode: 0o600 }))
    return null
  } catch (error) {
    if (error instanceof DamagedEntry) {
      return 'It is not what was packed: its checksum is wrong; make the ZIP again'
    }
    const reason = errorText(error)
    return `It could not be unpacked: ${reason.slice(0, 200)}`
  }
}

/** The name with `/` between folders. It is never used as a path to write to. */
function entryName(entry: Entry): string {
  return nameOfEntry(entry)
    .replaceAll('\\', '/')
    .replace(/^(\.?\/)+/, '')
}
