/**
 * Sends local files to the server: several requests at a time, with small files grouped; files are
 * read while being sent.
 */
import { randomUUID } from 'node:crypto'
import type { INSERT_FILES_RESULT } from '../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import { quote } from '../../core/domain/names.ts'
import { errorText } from '../../core/errors.ts'
import { sleep } from '../../core/runtime/cancellation.ts'
import { type NamedObject, pathOf, type Requesting } from '../command.ts'
import { CommandError } from '../command-error.ts'
import type { HttpClient } from '../http-client.ts'
import { runSql } from '../sql/statement-client.ts'
import type { LeftOut, LocalFile } from './local-files.ts'

export interface FileFailure {
  readonly path: string
  readonly code: string
  readonly message: string
}

export interface IngestCounts {
  stored: number
  unchanged: number
  removed: number
  documents: number
  chunks: number
  failed: FileFailure[]
  /** The jobs of sources that the server reads itself. */
  readonly jobs: number[]
  readonly warnings: FileFailure[]
  /** The first files skipped by default rules. */
  left_out: readonly LeftOut[]
  skipped: number
}

export function noCounts(): IngestCounts {
  return {
    stored: 0,
    unchanged: 0,
    removed: 0,
    documents: 0,
    chunks: 0,
    failed: [],
    jobs: [],
    warnings: [],
    left_out: [],
    skipped: 0,
  }
}

interface SendOptions {
  readonly kb: NamedObject
  readonly known: KnownFiles
  readonly counts: IngestCounts
  /** Whether to send files again that are already stored unchanged. */
  readonly isReplacing: boolean
  /** `format`, `encoding` and similar fields, for all files. */
  readonly fields: Readonly<Record<string, string>>
  /** Called for each file once it is stored, unchanged or failed. */
  readonly onFile: (file: LocalFile) => void
}

const REQUESTS_AT_ONCE = 3

/** @throws CommandError if continuing makes no sense (no server, no permission, no space) */
export async function sendFiles(
  files: readonly LocalFile[],
  options: SendOptions,
  context: Requesting,
): Promise<void> {
  // Parallel requests take files from one shared iterator.
  const remaining = files.values()
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const lane = async (): Promise<void> => {
    for (const file of remaining) {
      signal.throwIfAborted()
      await sendFile(file, options, { ...context, signal })
      options.onFile(file)
    }
  }
  const lanes = Array.from({ length: REQUESTS_AT_ONCE }, lane)
  try {
    await Promise.all(lanes)
  } catch (error) {
    stop.abort()
    await Promise.allSettled(lanes)
    context.signal.throwIfAborted()
    throw error
  }
}

async function fileHash(path: string, signal: AbortSignal): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256')
  for await (const piece of Bun.file(path).stream()) {
    signal.throwIfAborted()
    hash.update(piece)
  }
  return hash.digest('hex')
}

type InsertFilesAnswer = Wire<typeof INSERT_FILES_RESULT>

async function sendFile(file: LocalFile, options: SendOptions, context: Requesting): Promise<void> {
  const { counts, known, isReplacing } = options
  const former = isReplacing ? undefined : known.get(file.id)
  try {
    if (former !== undefined && former.hash === (await fileHash(file.path, context.signal))) {
      counts.unchanged += 1
      return
    }
    const sent = { name: file.id, content: () => Bun.file(file.path).stream() }
    const answer = await postFiles([sent], options, context)
    addFailed(answer.failed, counts)
    for (const stored of answer.files) {
      addStored(stored, counts)
      const { name, documents, file_hash: hash } = stored
      await known.stored(name, { hash, documents, id: name }, context.signal)
    }
  } catch (error) {
    context.signal.throwIfAborted()
    const isCommand = error instanceof CommandError
    if (isCommand && (ENDS_ALL.has(error.code) || error.status === 401)) throw error
    const code = isCommand ? error.code : 'file_failed'
    counts.failed.push({ path: file.id, code, message: errorText(error) })
  }
}

/** The error code for a file with scans that only the OCR model can read. */
export const UNCONFIRMED = 'ocr_unconfirmed'

export function addFailed(failed: InsertFilesAnswer['failed'], counts: IngestCounts): void {
  for (const { name, code, detail } of failed) {
    // The server's advice names a request field; this program has an option for it.
    const [message = detail] = code === UNCONFIRMED ? detail.split('. Send it again') : []
    counts.failed.push({ path: name, code, message })
  }
}

export function addStored(file: InsertFilesAnswer['files'][number], counts: IngestCounts): void {
  const { name, documents, chunks, skipped_rows: skippedRows, warnings } = file
  counts.stored += 1
  counts.documents += documents
  counts.chunks += chunks
  const without = skippedRows === 1 ? '1 row' : `${skippedRows} rows`
  const rows = skippedRows === 0 ? [] : [`${without} without content left out`]
  for (const message of [...warnings, ...rows]) {
    counts.warnings.push({ path: name, code: 'warning', message })
  }
}

/** With these codes, the next file would fail too. */
const ENDS_ALL: ReadonlySet<string> = new Set([
  'no_server',
  'connection_lost',
  'unauthorized',
  'knowledge_base_not_found',
  'project_not_found',
  'not_found',
  'storage_full',
  'provider_refused',
  'provider_failed',
  'unknown_provider',
])

const SENDS_MAX = 6
const FIRST_PAUSE_MS = 500

/** Temporary failures, while the server is restarting or overloaded. */
const PASSES: ReadonlySet<string> = new Set([
  'no_server',
  'connection_lost',
  'too_busy',
  'shutting_down',
])

export async function postFiles(
  files: readonly FormFile[],
  given: Pick<SendOptions, 'kb' | 'fields'> & {
    /** Set for piped data, which cannot be sent again. */
    readonly isOnce?: boolean
  },
  { client, output, signal }: Requesting,
): Promise<InsertFilesAnswer> {
  const { kb, fields, isOnce = false } = given
  const path = `${pathOf('knowledge_bases', kb)}/files`
  for (let attempt = 1; ; attempt += 1) {
    const { contentType, body } = formBody(files, fields)
    const init = { body, headers: { 'content-type': contentType }, signal }
    try {
      return await client.send<InsertFilesAnswer>('POST', path, init)
    } catch (error) {
      const isPassing = error instanceof CommandError && PASSES.has(error.code)
      if (isOnce || !isPassing || attempt === SENDS_MAX) throw error
      const pauseMs = FIRST_PAUSE_MS * 2 ** (attempt - 1)
      output.say(`${error.message.split(':')[0]}; again in ${pauseMs / 1000} s`)
      await sleep(pauseMs, signal)
    }
  }
}

// Builds a `multipart/form-data` body. Files are read from disk while it is sent.

interface FormFile {
  /** The name that the server sees. */
  readonly name: string
  readonly content: () => AsyncIterable<Uint8Array>
}

function formBody(files: readonly FormFile[], fields: Readonly<Record<string, string>> = {}) {
  const boundary = `eider-${randomUUID()}`
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: streamOf(formPieces(boundary, files, fields)),
  }
}

function streamOf(pieces: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await pieces.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: async () => {
      await pieces.return()
    },
  })
}

async function* formPieces(
  boundary: string,
  files: readonly FormFile[],
  fields: Readonly<Record<string, string>>,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder()
  const head = (disposition: string) => {
    return encoder.encode(`--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`)
  }
  const end = encoder.encode('\r\n')
  for (const [name, value] of Object.entries(fields)) {
    yield head(`name="${name}"`)
    yield encoder.encode(value)
    yield end
  }
  for (const { name, content } of files) {
    // Encoded as in RFC 5987, because a name may contain quotes, line breaks and letters of any
    // script.
    yield head(`name="file"; filename*=UTF-8''${encoded(name)}`)
    yield* content()
    yield end
  }
  yield encoder.encode(`--${boundary}--\r\n`)
}

function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replaceAll(/['()*!]/g, (char) => {
    return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  })
}

interface KnownFile {
  readonly hash: string
  readonly documents: number
  /** The id of one of its documents. */
  readonly id: string
}

const KNOWN_FIELDS = ['file_path', 'file_hash'] as const

export class KnownFiles {
  readonly #kb: NamedObject
  readonly #client: HttpClient
  readonly #files = new Map<string, KnownFile>()

  constructor(kb: NamedObject, client: HttpClient) {
    this.#kb = kb
    this.#client = client
  }

  async read(signal: AbortSignal): Promise<void> {
    const [path, hash] = KNOWN_FIELDS.map((name) => `metadata->>'${name}'`)
    const sql = `SELECT ${path}, any_value(${hash}), count(DISTINCT id), min(id) FROM ${quote(this.#kb.name)}
      WHERE ${path} IS NOT NULL GROUP BY 1`
    const request = { sql, project: this.#kb.project, params: {} }
    const answer = await runSql(request, this.#client, signal)
    if (answer.kind !== 'table') return
    for await (const rows of answer.batches) {
      for (const [file, fileHash, documents, id] of rows) {
        const known = { hash: String(fileHash), documents: Number(documents), id: String(id) }
        this.#files.set(String(file), known)
      }
    }
  }

  get(path: string): KnownFile | undefined {
    return this.#files.get(path)
  }

  get paths(): readonly string[] {
    return [...this.#files.keys()]
  }

  /** Removes documents of the file's earlier version that the new one no longer has. */
  async stored(path: string, now: KnownFile, signal: AbortSignal): Promise<void> {
    const former = this.#files.get(path)
    this.#files.set(path, now)
    if (former === undefined) return
    // The document has the same id, so it was replaced.
    if (former.documents === 1 && now.documents === 1 && former.id === path) return
    await this.#delete(`file_path = :path AND file_hash <> :hash`, { path, hash: now.hash }, signal)
  }

  /** @returns the number of removed documents */
  async remove(paths: readonly string[], signal: AbortSignal): Promise<void> {
    for (let start = 0; start < paths.length; start += PATHS_AT_ONCE) {
      const some = paths.slice(start, start + PATHS_AT_ONCE)
      await this.#delete('file_path IN :paths', { paths: some }, signal)
      for (const path of some) this.#files.delete(path)
    }
  }

  async #delete(
    condition: string,
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<void> {
    const sql = `DELETE FROM ${quote(this.#kb.name)} WHERE ${condition}`
    await runSql({ sql, project: this.#kb.project, params }, this.#client, signal)
  }
}

const PATHS_AT_ONCE = 200
