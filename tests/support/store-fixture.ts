import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBPreparedStatement } from '@duckdb/node-api'
import { requireKnowledgeBase } from '../../src/core/domain/access/catalog-snapshot.ts'
import type {
  ChunkVector,
  EmbeddedDocument,
  Row,
  TermCounts,
} from '../../src/core/domain/document.ts'
import type { KnowledgeBase, KnowledgeBaseDraft } from '../../src/core/domain/knowledge-base.ts'
import type { Language } from '../../src/core/domain/language.ts'
import type { BoundValue } from '../../src/core/domain/ports/engine-ports.ts'
import type { ResultValue } from '../../src/core/domain/query-result.ts'
import { AppError, type ErrorCode } from '../../src/core/errors.ts'
import { Analyzer, countTerms } from '../../src/core/text/analyzer.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { knowledgeBaseDraft } from './knowledge-base.ts'

/** The number of slots for callers' statements in the tests' stores. */
export const STATEMENTS_MAX = 4

export function openMemoryStore(): Promise<Store> {
  return openStore({ directory: ':memory:', threadPoolSize: STATEMENTS_MAX + 2 })
}

/** Resolves when DuckDB has received the next prepared statement to run. */
export function nextStatementRuns(): Promise<void> {
  const prototype = DuckDBPreparedStatement.prototype
  const { stream } = prototype
  const started = Promise.withResolvers<void>()
  prototype.stream = function (...parameters) {
    prototype.stream = stream
    const running = stream.apply(this, parameters)
    started.resolve()
    return running
  }
  return started.promise
}

export interface TemporaryFolder extends Disposable {
  readonly path: string
}

export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), 'eider-test-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** @param projectId 1 is the default project */
export function draftOf(name: string, projectId = 1): KnowledgeBaseDraft {
  return knowledgeBaseDraft({ name, projectId })
}

export interface TestDocument {
  readonly id: string
  /** Each text becomes one chunk. */
  readonly texts: readonly string[]
  readonly metadata?: Row
  /** The vectors of all chunks. By default, each is new and has three dimensions. */
  readonly vectors?: readonly ChunkVector[]
  /** The language of the knowledge base. */
  readonly language?: Language
}

export function documentOf(document: TestDocument): EmbeddedDocument {
  const { id, texts, metadata = {}, vectors, language } = document
  return {
    document: { id, rowIndex: 0, texts: [{ column: 'content', text: texts.join('') }], metadata },
    chunks: texts.map((content, index) => ({
      chunk: {
        documentId: id,
        chunkId: `${id}:content:${index + 1}of${texts.length}:0to${content.length}`,
        contentColumn: 'content',
        content,
        startChar: 0,
        endChar: content.length,
        chunkIndex: index,
        source: 'TextChunkingPreprocessor',
      },
      terms: termsOf(content, language),
      vector: vectors?.[index] ?? newVector(3, 4, 0),
    })),
  }
}

/** Returns the terms as an insert would count them. */
export function termsOf(text: string, language: Language = 'english'): TermCounts {
  return countTerms(new Analyzer(language).terms(text.toWellFormed()), language)
}

export function newVector(...values: readonly number[]): ChunkVector {
  return { kind: 'new', vector: Float32Array.from(values) }
}

/** Returns the knowledge base as the catalog has it now. */
export function current(store: Store, name = 'kb', project = 'mindsdb'): KnowledgeBase {
  return requireKnowledgeBase(store.catalog.snapshot(), project, name)
}

export async function rowsOf(
  store: Store,
  sql: string,
  values: Readonly<Record<string, BoundValue>> = {},
): Promise<readonly (readonly ResultValue[])[]> {
  const { signal } = new AbortController()
  const { batches } = await store.engine.run({ sql, values }, { timeoutMs: 10_000 }, signal)
  const rows: (readonly ResultValue[])[] = []
  for await (const batch of batches) rows.push(...batch)
  return rows
}

/** Returns the code and message of the AppError that the work throws. */
export async function failureOf(
  work: Promise<unknown>,
): Promise<{ readonly code: ErrorCode | 'none' | 'other'; readonly message: string }> {
  try {
    await work
    return { code: 'none', message: '' }
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, message: error.message }
    return { code: 'other', message: error instanceof Error ? error.message : String(error) }
  }
}
