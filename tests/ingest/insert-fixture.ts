import type { CatalogSnapshot } from '../../src/core/domain/access/catalog-snapshot.ts'
import type { Row } from '../../src/core/domain/document.ts'
import { type EmbeddedDocument, embeddedText } from '../../src/core/domain/document.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { Embedder, EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import type { DocumentReading } from '../../src/core/domain/ports/reading-ports.ts'
import type { DocumentStore, FileStore } from '../../src/core/domain/ports/store-ports.ts'
import { PLAIN_FILE, type UploadedFile } from '../../src/core/domain/uploaded-file.ts'
import { AppError } from '../../src/core/errors.ts'
import { chunkTexts } from '../../src/ingest/chunking/chunk-texts.ts'
import type { Chunker } from '../../src/ingest/chunking/chunker.ts'
import { answerJob } from '../../src/ingest/readers/reader-job.ts'
import type { FetchedPage, PageFetcher } from '../../src/ingest/sources/guarded-fetch.ts'
import { type InsertDeps, InsertLog } from '../../src/ingest/sources/insert-request.ts'
import { builtinTokenCounter } from '../../src/models/builtin/word-piece-counter.ts'
import { readDocument } from '../../src/reading/processes/read-file.ts'
import { readDirectly } from '../support/direct-reading.ts'

export const never = new AbortController().signal

export function uploadedFile(changes: Partial<UploadedFile> & { name: string }): UploadedFile {
  return {
    id: 1,
    originalName: changes.name,
    format: 'csv',
    sizeBytes: 1,
    columns: [],
    rowCount: 0,
    createdAt: '',
    ...PLAIN_FILE,
    ...changes,
  }
}

export function snapshotWith(files: readonly UploadedFile[]): CatalogSnapshot {
  const empty = {
    projects: [],
    knowledgeBases: [],
    agents: [],
    views: [],
    tables: [],
    dataSources: [],
  }
  return { version: 1, definitionsVersion: 1, ...empty, files }
}

/** Stores documents by ID like the real store: each completely, and each write in a transaction. */
export class FakeChunkStore implements DocumentStore {
  readonly documents = new Map<string, EmbeddedDocument>()
  /** The IDs in each transaction. */
  readonly writes: (readonly string[])[] = []
  crawlWarnings: readonly string[] | null = null
  /** The number of next writes that find their stored vectors missing. */
  staleWrites = 0
  readonly #keys = new Map<bigint, string>()

  /** This store has no types. */
  async checkDeclared(): Promise<void> {}

  async storedTexts(_kb: KnowledgeBase, documentIds: readonly string[]) {
    return documentIds.flatMap((documentId) => {
      const chunks = this.documents.get(documentId)?.chunks ?? []
      return chunks.map(({ chunk }) => {
        const chunkKey = BigInt(this.#keys.size + 1)
        const { content, context = '' } = chunk
        this.#keys.set(chunkKey, embeddedText(chunk))
        return { chunkKey, documentId, content, context }
      })
    })
  }

  async nextChunkKey(): Promise<bigint> {
    return BigInt(this.#keys.size + 1)
  }

  async replaceDocuments(_kb: KnowledgeBase, documents: readonly EmbeddedDocument[]) {
    const ids = documents.map(({ document }) => document.id)
    if (new Set(ids).size !== ids.length) throw new Error('an id came twice')
    const reused = documents.flatMap(({ chunks }) => {
      return chunks.filter(({ vector }) => vector.kind === 'stored')
    })
    if (this.staleWrites > 0 && reused.length > 0) {
      this.staleWrites -= 1
      return { kind: 'stale' as const }
    }
    for (const { chunk, vector } of reused) {
      const text = vector.kind === 'stored' ? this.#keys.get(vector.chunkKey) : undefined
      if (text !== embeddedText(chunk)) throw new Error('a vector of another text')
    }
    for (const one of documents) this.documents.set(one.document.id, one)
    this.writes.push(ids)
    return { kind: 'stored' as const }
  }

  withoutCaching<T>(work: () => Promise<T>): Promise<T> {
    return work()
  }

  /** Maps IDs to the texts of their chunks. */
  get contents(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(
      [...this.documents].map(([id, { chunks }]) => [id, chunks.map(({ chunk }) => chunk.content)]),
    )
  }

  metadataOf(id: string): Row | undefined {
    return this.documents.get(id)?.document.metadata
  }
}

export class FakeEmbedder implements Embedder {
  readonly batches: (readonly string[])[] = []
  /** The batch that contains this text fails. */
  failsAt: string | null = null

  async embed(texts: readonly string[], signal: AbortSignal) {
    signal.throwIfAborted()
    if (this.failsAt !== null && texts.includes(this.failsAt)) {
      throw new AppError('provider_failed', 'POST http://model/embed answered 503')
    }
    this.batches.push(texts)
    return texts.map((text) => Float32Array.from([text.length, 1]))
  }
}

function registryOf(embedder: Embedder): EmbedderRegistry {
  return {
    providers: ['builtin'],
    embedder: () => embedder,
    probe: async () => ({ kind: 'ready', dimensions: 2 }),
  }
}

export const wordPieces = builtinTokenCounter()

/** Reads in this process and thread, because the real reader has tests of its own. */
export const directReader: DocumentReading & Chunker = {
  readFile: (source, use) => readDirectly(source, use),
  read(document) {
    return readDocument(document)
  },
  async matching(texts, patterns) {
    const answer = answerJob({ kind: 'match', texts, patterns }, wordPieces)
    if (answer.kind === 'matching') return answer.texts
    throw answer.kind === 'failed' ? new AppError(answer.code, answer.message) : new Error()
  },
  async chunk(texts, rules, signal) {
    signal.throwIfAborted()
    return chunkTexts(texts, rules, wordPieces)
  },
}

export type Site = Readonly<Record<string, Partial<Omit<FetchedPage, 'bytes'>> & { body?: string }>>

/**
 * A web of these pages. `url` of a page is the address that it redirects to. Other addresses return
 * 404.
 */
export class FakeWeb implements PageFetcher {
  readonly asked: string[] = []
  readonly #site: Site

  constructor(site: Site) {
    this.#site = site
  }

  async fetch(url: string, options: Parameters<PageFetcher['fetch']>[1]): Promise<FetchedPage> {
    await options.beforeRequest?.(new URL(url))
    this.asked.push(url)
    const found = this.#site[url]
    if (found?.url !== undefined) return this.fetch(found.url, options)
    return {
      url,
      status: found?.status ?? (found === undefined ? 404 : 200),
      contentType: found?.contentType ?? 'text/html',
      bytes: new TextEncoder().encode(found?.body ?? ''),
    }
  }
}

export const noFiles: Omit<FileStore, 'importSelect'> = {
  checkSpace: () => {},
  importTables: async () => Promise.reject(new Error('not expected')),
  importRows: async () => Promise.reject(new Error('not expected')),
  async *rows() {},
  dropFile: async () => {},
}

export interface Fixture {
  readonly store: FakeChunkStore
  readonly embedder: FakeEmbedder
  readonly deps: InsertDeps
}

export function fixture(changes: Partial<InsertDeps> = {}): Fixture {
  const store = new FakeChunkStore()
  const embedder = new FakeEmbedder()
  const deps: InsertDeps = {
    snapshot: () => snapshotWith([]),
    chunks: store,
    inserts: new InsertLog(Date.now),
    embedders: registryOf(embedder),
    chatModels: { defaultModel: null, chatModel: () => Promise.reject(new Error('no model')) },
    files: noFiles,
    select: async () => Promise.reject(new AppError('sql_failed', 'no query expected')),
    pages: new FakeWeb({}),
    reader: directReader,
    chunker: directReader,
    crawlPagesMax: 100,
    keepCrawlWarnings: async (_kb, warnings) => {
      store.crawlWarnings = warnings
    },
    ...changes,
  }
  return { store, embedder, deps }
}
