/**
 * Transfers documents from a reader process: lines of JSON, with long contents in a separate file.
 */

import { closeSync, openSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Row, TextParts, TextSyntax } from '../../core/domain/document.ts'
import type { ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import type { AppError } from '../../core/errors.ts'
import { isCount, isObject, isShallow, parsedJson } from '../../core/json.ts'
import { couldNotRead, unreadable } from '../document-format.ts'
import { writeAll } from '../tables/plain-csv.ts'
import { CONTENTS_FILE, DOCUMENTS_FILE } from './reading-messages.ts'

/** A document's values besides its content, which are parsed in one step. */
const LINE_BYTES_MAX = 2 * 1024 * 1024
/** Longer contents are not part of the line. */
const CONTENT_IN_LINE_CHARS = 65_536
const BYTES_PER_WRITE = 65_536
const BYTES_PER_READ = 262_144
const CHARS_PER_WRITE = 1_048_576
/** The limit for these values, because DuckDB reads JSON recursively. */
const LEVELS_MAX = 100
const LINE_END = 0x0a

interface DocumentLine extends Omit<ReadDocument, 'content'> {
  readonly content: string | number
}

export class DocumentWriter {
  readonly #folder: string
  readonly #lines: number
  #contents: number | null = null
  #pending = ''
  #count = 0

  constructor(folder: string) {
    this.#folder = folder
    this.#lines = openSync(join(folder, DOCUMENTS_FILE), 'wx', 0o600)
  }

  get count(): number {
    return this.#count
  }

  /** @throws AppError `file_unreadable` if the values besides the content are too large */
  write({ id, content, title, syntax, parts, columns, links }: ReadDocument): void {
    const text = content.toWellFormed()
    const isLong = text.length > CONTENT_IN_LINE_CHARS
    const kept = { id, title, syntax, parts, columns, links }
    const line: DocumentLine = { ...kept, content: isLong ? this.#writeContent(text) : text }
    const json = JSON.stringify(line)
    if (Buffer.byteLength(json) > LINE_BYTES_MAX) throw tooMuchBeside()
    this.#pending += `${json}\n`
    this.#count += 1
    if (this.#pending.length >= BYTES_PER_WRITE) this.#flush()
  }

  end(): void {
    this.#flush()
    closeSync(this.#lines)
    if (this.#contents !== null) closeSync(this.#contents)
  }

  #flush(): void {
    writeAll(this.#lines, Buffer.from(this.#pending))
    this.#pending = ''
  }

  /** @returns its number of bytes */
  #writeContent(text: string): number {
    this.#contents ??= openSync(join(this.#folder, CONTENTS_FILE), 'wx', 0o600)
    let bytes = 0
    for (let start = 0; start < text.length; ) {
      let end = Math.min(start + CHARS_PER_WRITE, text.length)
      if (isHighSurrogate(text.charCodeAt(end - 1))) end -= 1
      const piece = Buffer.from(text.slice(start, end))
      writeAll(this.#contents, piece)
      bytes += piece.length
      start = end
    }
    return bytes
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function tooMuchBeside(): AppError {
  const limit = `${LINE_BYTES_MAX / 1024 ** 2} MB`
  const message = `The file could not be read: a document has more than ${limit} of links, pages and other values beside its text`
  return unreadable(message)
}

/** Lets other work run. @throws AppError `file_unreadable` for other programs' files */
export async function* writtenDocuments(
  folder: string,
  signal: AbortSignal,
): AsyncGenerator<ReadDocument, void> {
  const lines = await open(join(folder, DOCUMENTS_FILE), 'r')
  let contents: FileHandle | null = null
  try {
    for await (const bytes of linesIn(lines, signal)) {
      const line = documentLine(bytes)
      if (typeof line.content === 'string') {
        yield { ...line, content: line.content }
        continue
      }
      contents ??= await open(join(folder, CONTENTS_FILE), 'r')
      yield { ...line, content: await nextContent(contents, line.content, signal) }
    }
  } finally {
    await lines.close()
    await contents?.close()
  }
}

async function* linesIn(file: FileHandle, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  let rest = Buffer.alloc(0)
  const buffer = Buffer.alloc(BYTES_PER_READ)
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead } = await file.read(buffer, 0, buffer.length)
    if (bytesRead === 0) break
    // Copied, because the buffer is reused.
    let bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
    for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END)) {
      yield bytes.subarray(0, end)
      bytes = bytes.subarray(end + 1)
    }
    if (bytes.length > LINE_BYTES_MAX) throw nonsense()
    rest = bytes
  }
  if (rest.length > 0) throw nonsense()
}

async function nextContent(file: FileHandle, sizeBytes: number, signal: AbortSignal) {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const buffer = Buffer.alloc(Math.min(BYTES_PER_READ, sizeBytes))
  let content = ''
  for (let left = sizeBytes; left > 0; ) {
    signal.throwIfAborted()
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, left))
    if (bytesRead === 0) throw nonsense()
    left -= bytesRead
    content += decoder.decode(buffer.subarray(0, bytesRead), { stream: true })
  }
  return content + decoder.decode()
}

function documentLine(bytes: Uint8Array): DocumentLine {
  const value = parsedJson(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  if (!isObject(value)) throw nonsense()
  const { id, content, title, syntax, parts, columns, links } = value
  if (!isTextOrNull(id) || !isTextOrNull(title) || !isSyntax(syntax)) throw nonsense()
  if (typeof content !== 'string' && !isCount(content)) throw nonsense()
  if (parts !== null && !isParts(parts)) throw nonsense()
  if (!isRow(columns) || !Array.isArray(links)) throw nonsense()
  const texts = links.filter((link: unknown) => typeof link === 'string')
  return { id, content, title, syntax, parts, columns, links: texts }
}

function nonsense(): AppError {
  return couldNotRead('its reader gave an invalid answer')
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

const SYNTAXES: readonly unknown[] = ['text', 'markdown', 'code'] satisfies TextSyntax[]

function isSyntax(value: unknown): value is TextSyntax {
  return SYNTAXES.includes(value)
}

const PART_UNITS = ['page', 'slide', 'chapter', 'cell'] satisfies TextParts['unit'][]

function isParts(value: unknown): value is TextParts {
  if (!isObject(value)) return false
  const { unit, starts } = value
  return (
    PART_UNITS.some((known) => known === unit) && Array.isArray(starts) && starts.every(isCount)
  )
}

function isRow(value: unknown): value is Row {
  return isObject(value) && isShallow(value, LEVELS_MAX)
}
