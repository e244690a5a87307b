import { isUtf8 } from 'node:buffer'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type ReadingNotes, unreadable } from '../document-format.ts'
import {
  declaredEncoding,
  detectedEncoding,
  guessedEncoding,
  markedEncoding,
  wholeUtf8,
} from '../text-encoding.ts'

const BLOCK_BYTES = 4 * 1024 * 1024
const SAMPLE_BYTES = 1024 * 1024

/**
 * Returns the path of the same text in UTF-8, or of the file itself if all of its bytes are UTF-8.
 * It may start with a byte order mark.
 * @param encoding as stated by the client; undefined to detect it
 * @throws AppError `file_unreadable` for an unknown encoding
 */
export async function utf8File(
  path: string,
  encoding: string | undefined,
  folder: string,
  notes: ReadingNotes,
): Promise<string> {
  const file = openSync(path, 'r')
  try {
    const found = encoding === undefined ? encodingOf(file) : namedEncoding(encoding)
    notes.recognize({ encoding: found })
    if (found === 'utf-8' && isAllUtf8(file)) return path
    const decodedPath = join(folder, 'utf8')
    const replacedCount = transcode(file, decodedPath, found)
    if (replacedCount > 0) {
      notes.warn(
        `${replacedCount} place${replacedCount === 1 ? ' is' : 's are'} not valid ${found}: each became the sign U+FFFD`,
      )
    }
    return decodedPath
  } finally {
    closeSync(file)
  }
}

function namedEncoding(name: string): Bun.Encoding {
  const encoding = declaredEncoding(name)
  if (encoding !== null) return encoding
  if (/^utf-?8$/i.test(name.trim())) return 'utf-8'
  throw unreadable(
    `There is no encoding called ${JSON.stringify(name.slice(0, 40))}; known are those of the WHATWG Encoding Standard, such as utf-8, windows-1252, shift_jis and gb18030`,
  )
}

function encodingOf(file: number): Bun.Encoding {
  const begin = new Uint8Array(SAMPLE_BYTES)
  const sample = begin.subarray(0, readSync(file, begin, 0, begin.length, 0))
  const marked = markedEncoding(sample)
  if (marked !== null) return marked
  const detected = detectedEncoding(sample, sample.length === begin.length)
  if (detected !== 'utf-8') return mostlyUtf8(sample) ? 'utf-8' : detected
  const odd = firstOddBlock(file)
  return odd === null || mostlyUtf8(odd) ? 'utf-8' : guessedEncoding(odd)
}

/** UTF-8 with a few damaged characters still counts as UTF-8. */
function mostlyUtf8(bytes: Uint8Array): boolean {
  const text = new TextDecoder('utf-8').decode(bytes)
  const beyond = text.match(/[^\0-\x7f]/g)?.length ?? 0
  const damaged = text.match(/\ufffd/g)?.length ?? 0
  return beyond >= 20 && damaged <= beyond / 20
}

/** Yields blocks that each start at a complete UTF-8 character. */
function* blocksOf(file: number): Generator<Uint8Array, void> {
  const buffer = new Uint8Array(BLOCK_BYTES)
  let at = 0
  for (;;) {
    const size = readSync(file, buffer, 0, buffer.length, at)
    if (size === 0) return
    // A character cut off at the end becomes part of the next block.
    const block = buffer.subarray(0, size)
    const end = size === buffer.length ? wholeUtf8(block).length : size
    yield buffer.subarray(0, end)
    at += end
  }
}

function firstOddBlock(file: number): Uint8Array | null {
  for (const block of blocksOf(file)) if (!isUtf8(block)) return block
  return null
}

function isAllUtf8(file: number): boolean {
  return firstOddBlock(file) === null
}

/** @returns the number of invalid positions */
function transcode(file: number, path: string, encoding: Bun.Encoding): number {
  const decoder = new TextDecoder(encoding)
  const encoder = new TextEncoder()
  const target = openSync(path, 'wx', 0o600)
  let replacedCount = 0
  const write = (text: string): void => {
    for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', at + 1))
      replacedCount += 1
    const bytes = encoder.encode(text)
    let done = 0
    while (done < bytes.length) done += writeSync(target, bytes, done)
  }
  try {
    const buffer = new Uint8Array(BLOCK_BYTES)
    for (let at = 0; ; ) {
      const size = readSync(file, buffer, 0, buffer.length, at)
      if (size === 0) break
      write(decoder.decode(buffer.subarray(0, size), { stream: true }))
      at += size
    }
    write(decoder.decode())
  } finally {
    closeSync(target)
  }
  return replacedCount
}
