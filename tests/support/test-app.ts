import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../../scripts/server-process.ts'
import { type AppLog, createApp } from '../../src/app.ts'
import type { DataSources } from '../../src/core/domain/ports/engine-ports.ts'
import type { EmbedderRegistry, RerankerRegistry } from '../../src/core/domain/ports/model-ports.ts'
import type { Migration } from '../../src/store/catalog/migrate.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import type { App } from '../../src/wiring/running-app.ts'
import { type Environment, settingsFrom } from '../../src/wiring/settings/settings.ts'
import { holdAnswer } from './held-answers.ts'

/** The whole product in memory without a port, which answers requests. */
export interface TestApp {
  readonly app: App
  readonly store: Store
  /** Sends JSON and returns the status and the parsed body (or text if it is not JSON). */
  send(method: string, path: string, body?: unknown, headers?: HeadersInit): Promise<Answer>
  /** Returns the rows of a statement, and throws if it failed. */
  rows(sql: string, params?: Readonly<Record<string, unknown>>): Promise<readonly unknown[][]>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly text: string
  readonly headers: Headers
}

export interface TestAppOptions {
  readonly environment?: Environment
  /** The embedders, by default `wordEmbedders`. `real` uses those of the program. */
  readonly embedders?: EmbedderRegistry | 'real'
  readonly rerankers?: RerankerRegistry
  readonly log?: AppLog
  readonly sources?: DataSources
  /** The data folder, by default `:memory:`. */
  readonly directory?: string
  readonly migrations?: readonly Migration[]
  /** Replaces the free disk space that the operating system reports. */
  readonly freeBytesOf?: () => number
  /** The memory limit of the SQL engine. */
  readonly memoryLimit?: string
  /**
   * Never uses the built file, because the test reads the store, or disconnects in a way that only
   * a caller in this process can.
   */
  readonly isInProcess?: true
}

/**
 * Runs the app in this process. If BUILT_FILE is set in the environment and the test passes in no
 * fakes, it runs that file as a server instead. `npm run test:file` runs the suites of the public
 * API that way.
 */
export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  if (process.env.BUILT_FILE !== undefined && !hasFakes(options)) return fileApp(options)
  const settings = settingsFrom({ EIDER_LOG_LEVEL: 'silent', ...options.environment })
  const { directory = ':memory:', freeBytesOf, memoryLimit } = options
  const store = await openStore({
    directory,
    ...(options.migrations && { migrations: options.migrations }),
    diskReserve: settings.diskReserve,
    schedules: { schedulesMax: settings.schedulesMax, runsMax: settings.scheduleRunsKeep },
    audit: { keepMs: settings.auditKeepDays * 86_400_000 },
    traces: { keepMs: settings.tracesKeepDays * 86_400_000, bytesMax: settings.tracesBytesMax },
    conversations: { keepMs: settings.conversationsKeepDays * 86_400_000 },
    ...(freeBytesOf === undefined ? {} : { freeBytesOf }),
    ...(memoryLimit === undefined ? {} : { memoryLimit }),
  })
  const app = createApp({
    settings,
    store,
    version: '0.0.0-test',
    ...(options.embedders === 'real' ? {} : { embedders: options.embedders ?? wordEmbedders }),
    ...(options.sources === undefined ? {} : { sources: options.sources }),
    ...(options.log === undefined ? {} : { log: options.log }),
    ...(options.rerankers === undefined ? {} : { rerankers: options.rerankers }),
  })
  return { app, store, ...callsOf(app), close: () => app.close() }
}

function hasFakes({ environment: _, directory: __, embedders, ...fakes }: TestAppOptions): boolean {
  const isReal = embedders === undefined || embedders === 'real'
  return !isReal || Object.values(fakes).some((one) => one !== undefined)
}

/** The same over HTTP. */
async function fileApp({ environment, directory }: TestAppOptions): Promise<TestApp> {
  const folder = await mkdtemp(join(tmpdir(), 'eider-file-'))
  const dataDirectory = directory ?? join(folder, 'data')
  const given = Object.entries(environment ?? {}).flatMap(([name, value]) => {
    return value === undefined ? [] : [[name, value] as const]
  })
  const postgresPort = environment?.EIDER_PG_PORT === undefined ? null : freePort()
  if (postgresPort !== null) given.push(['EIDER_PG_PORT', String(postgresPort)])
  const server = await startServer({ dataDirectory, environment: Object.fromEntries(given) })
  const handle: App['handle'] = (request) => {
    const { pathname, search } = new URL(request.url)
    const sent = new Request(`${server.baseUrl}${pathname}${search}`, request)
    return fetch(sent, { redirect: 'manual', signal: request.signal })
  }
  const document = async () => (await fetch(`${server.baseUrl}/openapi.json`)).json()
  const close = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  const inside = (): never => {
    throw new Error('Only an app in this process has this: pass in a fake, or use the public API')
  }
  const listener = {
    url: new URL(server.baseUrl),
    postgresPort,
    stop: async () => {},
    handOver: inside,
  }
  return {
    app: { handle, document, close, start: () => {}, listen: () => listener },
    get store() {
      return inside()
    },
    ...callsOf({ handle, document }),
    close,
  }
}

function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
  const { port } = listener
  listener.stop()
  return port
}

function callsOf(app: Pick<App, 'handle' | 'document'>): Pick<TestApp, 'send' | 'rows'> {
  const send: TestApp['send'] = async (method, path, body, headers) => {
    const isJson = body !== undefined && !(body instanceof FormData) && typeof body !== 'string'
    const sent = isJson ? JSON.stringify(body) : (body as string | FormData | undefined)
    const request = new Request(`http://localhost${path}`, {
      method,
      ...(sent === undefined ? {} : { body: sent }),
      headers: { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
    })
    const response = await app.handle(request)
    const text = await response.text()
    const { status } = response
    const answer = { status, text, headers: response.headers }
    await holdAnswer(
      app.document,
      { line: `${method} ${path}`, ...(isJson ? { body } : {}) },
      answer,
    )
    return { ...answer, body: parsed(text) }
  }
  return { send, rows: (sql, params) => rowsOf(send, sql, params) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function rowsOf(
  send: TestApp['send'],
  query: string,
  params: Readonly<Record<string, unknown>> = {},
): Promise<readonly unknown[][]> {
  const { body } = await send('POST', '/api/sql/query', { query, params })
  const answer = body as { type: string; data?: unknown[][]; error_message?: string }
  if (answer.data === undefined) throw new Error(answer.error_message ?? `no rows: ${answer.type}`)
  return answer.data
}

const WORD_DIMENSIONS = 64

/**
 * Embeds texts that share words near each other. A vector counts the words of a text, each at a
 * position that its letters determine.
 */
export const wordEmbedders: EmbedderRegistry = {
  providers: ['builtin', 'openai'],
  embedder: () => ({ embed: async (texts) => texts.map(wordVector) }),
  probe: async () => ({ kind: 'ready', dimensions: WORD_DIMENSIONS }),
}

function wordVector(text: string): Float32Array {
  const vector = new Float32Array(WORD_DIMENSIONS)
  vector[0] = 0.01
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    let hash = 7
    for (const char of word) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003
    const place = hash % WORD_DIMENSIONS
    vector[place] = (vector[place] ?? 0) + 1
  }
  return vector
}
