/**
 * What runs, in a file mapped into memory: the system keeps what was written there, however the process ends. 256 slots
 * of 512 bytes; the first one is about the whole process. Numbers are in the machine's own order.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunningEntry } from '../../core/domain/ports/engine-ports.ts'
import {
  BEFORE_STATEMENT,
  isQuery,
  type RunningRequest,
  shownStatement,
} from '../../core/domain/server-state.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { timestampOfMillis } from '../../core/time.ts'

const FILE_NAME = 'eider.running'
const SLOT_BYTES = 512
const SLOTS = 256
const MAGIC = 0x45_49_44_31

/** Within a slot. A start of 0: nothing runs there. */
const START_AT = 0
const HASH_AT = 8
const FLAGS_AT = 16
const WHAT_BYTES_AT = 18
const STATEMENT_BYTES_AT = 20
const TEXT_AT = 24
const HAS_HASH = 1
const HAS_ENDED_BEFORE = 2

/** Within the first slot. */
const IS_RUNNING_AT = 8

const WHAT_BYTES_MAX = 160
const STATEMENT_CHARS_MAX = 200
/** Statements that are known to end: 64 bytes each. */
const ENDED_MAX = 10_000

/** The statements that ran when a process ended. */
export interface RunningNote {
  readonly startedAt: number
  readonly what: string
  /** Its first characters, without values. */
  readonly statement: string | null
  /** For a SELECT: the same for statements that differ only in values. */
  readonly hash: string | null
  /** A similar statement had run before in that process, and had ended. */
  readonly hasEndedBefore: boolean
}

/** One process's table. A statement without a free slot is not recorded. */
export class RunningTable {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #encoder = new TextEncoder()
  readonly #free = Array.from({ length: SLOTS - 1 }, (_, index) => SLOTS - 1 - index)
  readonly #ended = new LruMap<bigint, true>({ sizeMax: ENDED_MAX })
  readonly #now: () => number

  /** Replaces the previous process's table. */
  constructor(directory: string, now: () => number) {
    this.#bytes = mappedFile(directory)
    this.#view = viewOf(this.#bytes)
    this.#now = now
    this.#view.setUint32(0, MAGIC)
    this.#view.setUint8(IS_RUNNING_AT, 1)
  }

  begin(what: string): RunningEntry {
    const slot = this.#free.pop()
    if (slot === undefined) return { statement: () => {}, end: () => {} }
    const at = slot * SLOT_BYTES
    const text = this.#bytes.subarray(at + TEXT_AT, at + TEXT_AT + WHAT_BYTES_MAX)
    this.#view.setUint16(at + WHAT_BYTES_AT, this.#encoder.encodeInto(what, text).written)
    this.#view.setUint16(at + STATEMENT_BYTES_AT, 0)
    this.#view.setUint16(at + FLAGS_AT, 0)
    this.#view.setFloat64(at + START_AT, this.#now())
    let hash: bigint | null = null
    return {
      statement: (sql) => {
        hash = statementHash(sql)
        this.#note(at, notedText(sql), hash)
      },
      end: () => {
        this.#view.setFloat64(at + START_AT, 0)
        this.#free.push(slot)
        if (hash !== null) this.#ended.set(hash, true)
      },
    }
  }

  #note(at: number, statement: string, hash: bigint | null): void {
    const start = at + TEXT_AT + this.#view.getUint16(at + WHAT_BYTES_AT)
    const text = this.#bytes.subarray(start, at + SLOT_BYTES)
    this.#view.setUint16(at + STATEMENT_BYTES_AT, this.#encoder.encodeInto(statement, text).written)
    if (hash === null) return
    this.#view.setBigUint64(at + HASH_AT, hash)
    const hasEnded = this.#ended.get(hash) === true ? HAS_ENDED_BEFORE : 0
    this.#view.setUint16(at + FLAGS_AT, HAS_HASH | hasEnded)
  }

  /** From here on, the end of this process is not a crash. */
  endInOrder(): void {
    this.#view.setUint8(IS_RUNNING_AT, 0)
  }
}

/** What ran when the last process over this folder ended; null: it ended in order, or there was none. */
export function readRunning(directory: string): readonly RunningNote[] | null {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(join(directory, FILE_NAME))
  } catch {
    return null
  }
  const view = viewOf(bytes)
  const isTable = bytes.length === SLOT_BYTES * SLOTS && view.getUint32(0) === MAGIC
  if (!isTable || view.getUint8(IS_RUNNING_AT) === 0) return null
  const slots = Array.from({ length: SLOTS - 1 }, (_, index) => (index + 1) * SLOT_BYTES)
  return slots
    .filter((at) => view.getFloat64(at + START_AT) !== 0)
    .map((at) => noteAt(at, bytes, view))
    .sort((a, b) => a.startedAt - b.startedAt)
}

/** The public part. */
export function requestsOf(notes: readonly RunningNote[]): readonly RunningRequest[] {
  return notes.map(({ startedAt, what, statement }) => ({
    since: timestampOfMillis(startedAt),
    request: what,
    statement,
  }))
}

function noteAt(at: number, bytes: Uint8Array, view: DataView): RunningNote {
  const flags = view.getUint16(at + FLAGS_AT)
  const whatEnd = at + TEXT_AT + view.getUint16(at + WHAT_BYTES_AT)
  const statementBytes = view.getUint16(at + STATEMENT_BYTES_AT)
  const text = (start: number, end: number) => new TextDecoder().decode(bytes.subarray(start, end))
  return {
    startedAt: view.getFloat64(at + START_AT),
    what: text(at + TEXT_AT, whatEnd),
    statement: statementBytes === 0 ? null : text(whatEnd, whatEnd + statementBytes),
    hash: (flags & HAS_HASH) === 0 ? null : view.getBigUint64(at + HASH_AT).toString(16),
    hasEndedBefore: (flags & HAS_ENDED_BEFORE) !== 0,
  }
}

/** A new file, filled: a page that the disk has no room for would end the process when it is written. */
function mappedFile(directory: string): Uint8Array {
  const empty = new Uint8Array(SLOT_BYTES * SLOTS)
  try {
    const path = join(directory, FILE_NAME)
    writeFileSync(`${path}.new`, empty, { mode: 0o600 })
    renameSync(`${path}.new`, path)
    return Bun.mmap(path, { shared: true })
  } catch {
    // Windows, or no space: a crash is reported without the running statements.
    return empty
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const FIRST_WORDS = new RegExp(`${BEFORE_STATEMENT}([a-z_]+(?:\\s+[a-z_]+)?)`, 'i')
/** The rest may contain a key. */
const OPTIONS = /\busing\s+\w+\s*=.*$/is
/** A statement starts within this many characters. */
const HEAD_CHARS = 4000

/** For a SELECT, the only kind refused after a crash; null for others. */
export function statementHash(sql: string): bigint | null {
  return isQuery(sql) ? BigInt(Bun.hash(statementShape(sql))) : null
}

/** What has no say in what a statement does: values, comments, white space. Names in quotes stay. */
const VARYING =
  /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|\b\d[\w.]*|[\s;]+/g

function statementShape(sql: string): string {
  const shape = sql.replace(VARYING, (found) => {
    if (found.startsWith('"')) return found
    return /^(?:--|\/\*|[\s;])/.test(found) ? ' ' : '?'
  })
  return shape.replace(/ +/g, ' ').trim().toLowerCase()
}

function notedText(sql: string): string {
  const head = sql.slice(0, HEAD_CHARS)
  if (!isQuery(head)) return FIRST_WORDS.exec(head)?.[1] ?? ''
  return shownStatement(sql, STATEMENT_CHARS_MAX).replace(OPTIONS, 'USING …').toWellFormed()
}
