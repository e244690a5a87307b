import { isHere, requireKnowledgeBase } from '../../src/core/domain/access/catalog-snapshot.ts'
import { ANYONE } from '../../src/core/domain/access/principal.ts'
import type { EmbeddedDocument } from '../../src/core/domain/document.ts'
import type { SourceParameters } from '../../src/core/domain/flow/source-parameters.ts'
import type { AgentAnswers, EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import type { NearestChunks } from '../../src/core/domain/ports/search-ports.ts'
import type { ResultValue } from '../../src/core/domain/query-result.ts'
import { addressPolicy, internet } from '../../src/core/runtime/address-policy.ts'
import { DocumentReader } from '../../src/ingest/readers/document-reader.ts'
import { InsertLog } from '../../src/ingest/sources/insert-request.ts'
import { JobRunner } from '../../src/ops/jobs/job-runner.ts'
import { createAgent } from '../../src/query/definitions/define-agent.ts'
import { createKnowledgeBase } from '../../src/query/definitions/define-knowledge-base.ts'
import { catalogRows } from '../../src/query/information-schema/information-schema.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { PlanCache } from '../../src/query/select/plan-cache.ts'
import { Planner } from '../../src/query/select/planner.ts'
import { KnownPhrases, NO_RERANKERS, type QueryDeps } from '../../src/query/select/query-deps.ts'
import { SharedPlans } from '../../src/query/select/shared-plans.ts'
import { Variables } from '../../src/query/sessions.ts'
import { databaseDistance } from '../../src/retrieval/vectors/quantized-rows.ts'
import { remoteSearches } from '../../src/store/postgres/remote-search.ts'
import { networkRulesOf } from '../../src/wiring/agent-parts.ts'
import { shownActivity } from '../../src/wiring/job-parts.ts'
import { openSources } from '../../src/wiring/open-sources.ts'
import { settingsFrom } from '../../src/wiring/settings/settings.ts'
import { sourceFilesOf } from '../../src/wiring/source-parts.ts'
import { NO_REEMBEDDINGS, NO_SOURCES, NO_STORAGES } from '../support/absent-parts.ts'
import { importFile } from '../support/direct-reading.ts'
import { fakeSources } from '../support/fake-sources.ts'
import { openSearchableStore, type SearchableStore } from '../support/searchable-store.ts'
import { termsOf } from '../support/store-fixture.ts'

/** A PostgreSQL that stores the knowledge bases of a fixture. */
export interface FixtureStorage {
  readonly parameters: SourceParameters
  readonly isCopied: boolean
}

const PLANNER_ENTRY = new URL('../../src/wiring/threads/planner-entry.ts', import.meta.url).href

export interface SqlFixture {
  readonly deps: QueryDeps
  /** Returns the rows as lines, `ok`, or `error: <message>`. */
  answer(sql: string): Promise<string>
  close(): Promise<void>
}

/**
 * Embeds a text with the number n at the angle atan(n / 10) on a quarter circle, so near numbers
 * are near texts.
 */
export function numberVector(text: string): Float32Array {
  return Float32Array.from([Number(/\d+/.exec(text)?.[0] ?? 1), 10, 0])
}

const embedders: EmbedderRegistry = {
  providers: ['builtin'],
  embedder: () => ({ embed: async (texts) => texts.map(numberVector) }),
  probe: async () => ({ kind: 'ready', dimensions: 3 }),
}

/** Repeats the question, and answers in JSON if it asks for fields. */
const agents: AgentAnswers = {
  warningsOf: () => [],
  async ask(agent, question) {
    const [text = '', form = ''] = question.split('\n\n')
    const keys = [...form.matchAll(/"([^"]+)"/g)].map(([, key = '']) => [key, `${key} of ${text}`])
    const content =
      form === '' ? `${agent.name} heard: ${text}` : JSON.stringify([Object.fromEntries(keys)])
    return {
      content,
      traceId: 'trace',
      citations: [],
      warnings: [],
      usage: null,
      cost: null,
      seconds: 0,
    }
  },
}

const PARAMS = { text: '60', price: 3, ids: ['d3', 'd7'] }

/** Two hundred texts in `kb`, an empty knowledge base, and a file of two hundred rows, in memory. */
export async function openSqlFixture(stored: FixtureStorage | null = null): Promise<SqlFixture> {
  const store = await openSearchableStore()
  const remote = stored && (await connectedStorage(store, stored))
  const { catalog, engine } = store
  const inserts = new InsertLog(Date.now)
  const deps: QueryDeps = {
    catalog,
    keeping: NO_SOURCES,
    inserts,
    activity: shownActivity(store, inserts),
    jobs: new JobRunner({
      store: store.jobs,
      runningMax: 1,
      waitingMax: 10,
      keptMax: 10,
      log: () => {},
      onFailure: () => {},
      now: Date.now,
    }),
    engine,
    nearest: remote?.nearest ?? store.vectorCaches,
    known: store.vectorCaches,
    rows: store.rowCaches,
    commits: store.commits,
    indexes: store.indexStates,
    embedders,
    rerankers: NO_RERANKERS,
    judgeAnswerability: async (_question, found) => ({
      score: found.length / 20,
      evidence: 'closest',
    }),
    chatProviders: ['builtin'],
    checkAddress: async () => {},
    checkServerAddress: async () => {},
    reembeddings: NO_REEMBEDDINGS,
    storages: remote === null ? NO_STORAGES : store.copies,
    moves: store.moves,
    dataSources: store.dataSourceCatalog,
    sources: fakeSources({}),
    databaseUses: async () => [],
    schedules: {
      store: { list: () => [], runs: async () => [] },
      create: async () => Promise.reject(new Error('not expected')),
      drop: async () => Promise.reject(new Error('not expected')),
    },
    author: ANYONE,
    live: { rows: async (table, snapshot) => ({ rows: catalogRows(table, snapshot) ?? [] }) },
    agents,
    chatModels: { defaultModel: null, chatModel: () => Promise.reject(new Error('no model')) },
    chunks: store.chunks,
    documents: store.documents,
    transfers: store.transfers,
    tables: store.tables,
    files: store.files,
    storage: store.upkeep,
    chunker: new DocumentReader(),
    plans: new PlanCache(),
    phrases: new KnownPhrases(),
    sharedPlans: new SharedPlans(),
    planner: new Planner({ engine: store.engine, workerUrl: PLANNER_ENTRY, planningMs: 10_000 }),
    variables: new Variables(),
    queryMs: 60_000,
    insertWaitMs: 0,
    statementBytesMax: 1024 * 1024,
    nowMs: () => performance.now(),
  }
  await createKnowledgeBase('mindsdb', { name: 'kb', ...remote?.fieldsOf('kb') }, deps)
  const empty = { name: 'empty', metadata_columns: ['declared'] }
  await createKnowledgeBase('mindsdb', { ...empty, ...remote?.fieldsOf('empty') }, deps)
  await createAgent('mindsdb', { name: 'echo' }, deps)
  const kb = requireKnowledgeBase(catalog.snapshot(), 'mindsdb', 'kb')
  await store.chunks.replaceDocuments(
    kb,
    Array.from({ length: 200 }, (_, index) => document(index)),
  )
  // Searches in memory and scans must give the same rows. Here the rows come from memory.
  await store.vectorCaches.settled()
  const rows = Array.from({ length: 200 }, (_, a) => ({ id: `d${a}`, a }))
  const content = rows.map((row) => JSON.stringify(row)).join('\n')
  await importFile(store, { name: 't', format: 'jsonl', content })
  return {
    deps,
    answer: (sql) => answerOf(sql, deps),
    async close() {
      await store.close()
      await remote?.sources.close()
    },
  }
}

async function connectedStorage(store: SearchableStore, { parameters, isCopied }: FixtureStorage) {
  const settings = settingsFrom({ EIDER_LOG_LEVEL: 'silent', EIDER_NETWORK_ALLOW: '127.0.0.1' })
  const guard = { policy: addressPolicy(networkRulesOf(settings)), network: internet }
  const sources = openSources({ guard, staging: store.staging, files: sourceFilesOf(settings) })
  store.copies.connect(sources, async () => {})
  const own = {
    name: 'pg',
    engine: 'postgres' as const,
    parameters: { ...parameters, storage: true },
  }
  await store.dataSourceCatalog.createDataSource(own)
  const here = store.vectorCaches
  const there = remoteSearches((kb) => store.copies.remoteOf(kb), databaseDistance)
  return {
    sources,
    nearest: {
      nearest: (search, signal) =>
        (isHere(search.knowledgeBase) ? here : there).nearest(search, signal),
      access: (kb, isPrefiltered) => (isHere(kb) ? here : there).access(kb, isPrefiltered),
    } satisfies NearestChunks,
    fieldsOf: (table: string) => ({ storage: { database: 'pg', table, copy: isCopied } }),
  }
}

/** A block is comments, the statement, a line `----`, then the rows, `ok`, or `error: <message>`; a blank line ends it. */
export async function goldenBlocks(file: string) {
  const text = await Bun.file(`${import.meta.dir}/${file}`).text()
  return text
    .split(/\n{2,}/)
    .map((block) => block.split('\n').filter((line) => !line.startsWith('#')))
    .filter((lines) => lines.join('').trim() !== '')
    .map((lines) => {
      const at = lines.indexOf('----')
      return {
        sql: lines.slice(0, at).join('\n'),
        expected: lines
          .slice(at + 1)
          .join('\n')
          .trim(),
      }
    })
}

function document(index: number): EmbeddedDocument {
  const number = index + 1
  const id = `d${number}`
  const text = `text number ${number}`
  return {
    document: {
      id,
      rowIndex: index,
      texts: [{ column: 'content', text }],
      metadata: { Price: number % 10, colour: number % 2 === 0 ? 'red' : 'blue' },
    },
    chunks: [
      {
        chunk: {
          documentId: id,
          chunkId: `${id}:content:1of1:0to${text.length}`,
          contentColumn: 'content',
          content: text,
          startChar: 0,
          endChar: text.length,
          chunkIndex: 0,
          source: 'TextChunkingPreprocessor',
        },
        terms: termsOf(text),
        vector: { kind: 'new', vector: numberVector(text) },
      },
    ],
  }
}

async function answerOf(sql: string, deps: QueryDeps): Promise<string> {
  try {
    const request = { sql, db: 'mindsdb', params: PARAMS }
    const result = await runQuery(request, deps, new AbortController().signal)
    if (result.kind === 'ok') return 'ok'
    const lines = [result.rows.columns.map((column) => column.name).join(' | ')]
    for await (const batch of result.rows.batches) {
      for (const row of batch) lines.push(row.map(shown).join(' | '))
    }
    return lines.join('\n')
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : String(error)}`
  }
}

function shown(value: ResultValue): string {
  if (typeof value === 'number') return String(Number(value.toFixed(4)))
  // An editor may remove a space at the end of a line.
  if (value === '') return "''"
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Finds no chunks in memory: every search runs in the database. */
export const NOTHING_NEAR: NearestChunks = {
  nearest: async () => null,
  access: () => ({ kind: 'scan', detail: 'this is a test' }),
}
