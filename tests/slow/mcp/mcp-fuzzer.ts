/**
 * Messages to `/mcp`. Most are valid except for one or two places, so that they get past the first
 * checks.
 */

type Json = Record<string, unknown>

export interface FuzzOptions {
  /** The URL of the server without a path. */
  readonly url: string
  readonly seed: number
  readonly requests: number
  readonly atOnce: number
  /** The headers of clients that take turns, with or without keys. */
  readonly clients: readonly Readonly<Record<string, string>>[]
}

export interface FuzzReport {
  /** Wrong responses, each with the message that caused it. */
  readonly wrong: string[]
  /** How often each status, protocol code and tool's error code occurred. */
  readonly seen: Map<string, number>
}

const HANG_MS = 20_000

/** mulberry32: a run with the same seed sends the same messages. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const DOCUMENT = 'eider://documents/mindsdb/docs/tea'

/** A long statement. It ends with its client, which disconnects just after sending it. */
const LONG = 'SELECT sum(hash(a.range + b.range)) FROM range(1000000) a, range(1000000) b'

/** Valid calls, which are then changed. */
const CALLS: readonly [string, Json][] = [
  ['search', { query: 'green tea' }],
  ['search', { query: 'tea', knowledge_base: 'mindsdb.docs', limit: 3, mode: 'keyword' }],
  ['search', { query: 'tea', knowledge_base: 'docs', filters: { year: { '>=': 2020 } } }],
  [
    'search',
    { query: 'tea', knowledge_base: 'docs', filters: { $or: [{ year: 1 }] }, min_relevance: 0.2 },
  ],
  ['fetch', { id: DOCUMENT }],
  ['fetch', { id: DOCUMENT, offset: 3, max_chars: 5 }],
  ['query', { sql: 'SELECT 1' }],
  ['query', { sql: 'SELECT :a::INT + 1 AS n', params: { a: 1 } }],
  ['query', { sql: "SELECT id, relevance FROM docs WHERE content = 'tea' LIMIT 2", limit: 1 }],
  ['query', { sql: 'SHOW TABLES', database: 'mindsdb' }],
  ['query', { sql: 'SELECT * FROM information_schema.tables' }],
  ['query', { sql: "SELECT answer FROM helper WHERE question = 'tea?'" }],
  ['list_data', {}],
  ['list_data', { project: 'mindsdb', limit: 1 }],
  ['ask_agent', { agent: 'mindsdb.helper', question: 'How hot is green tea?' }],
  ['ask_agent', { agent: 'helper', question: 'And then?', conversation_id: 'new' }],
  ['add_documents', { knowledge_base: 'docs', documents: [{ id: 'f', content: 'fuzzed' }] }],
  [
    'add_documents',
    { knowledge_base: 'docs', documents: [{ content: 'x y', metadata: { year: 7 } }] },
  ],
]

const METHODS: readonly [string, Json | undefined][] = [
  ['ping', undefined],
  ['tools/list', {}],
  ['resources/list', {}],
  ['resources/list', { cursor: '0' }],
  ['resources/list', { cursor: '100' }],
  ['resources/templates/list', {}],
  ['resources/read', { uri: DOCUMENT }],
  ['resources/read', { uri: 'eider://schemas/mindsdb/docs' }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'answer_with_citations', arguments: { question: 'tea?' } }],
  ['prompts/get', { name: 'explore_data', arguments: { goal: 'all', project: 'mindsdb' } }],
  [
    'completion/complete',
    {
      ref: { type: 'ref/resource', uri: 'eider://documents/{project}/{knowledge_base}/{id}' },
      argument: { name: 'id', value: 't' },
      context: { arguments: { project: 'mindsdb', knowledge_base: 'docs' } },
    },
  ],
  [
    'completion/complete',
    {
      ref: { type: 'ref/prompt', name: 'explore_data' },
      argument: { name: 'project', value: '' },
    },
  ],
  ['notifications/initialized', undefined],
  ['notifications/cancelled', { requestId: 1, reason: 'no' }],
  ['notifications/progress', { progressToken: 1, progress: 1 }],
  ['notifications/roots/list_changed', {}],
  ['logging/setLevel', { level: 'debug' }],
  ['resources/subscribe', { uri: DOCUMENT }],
  ['tasks/list', {}],
  ['tasks/get', { taskId: '1' }],
  ['sampling/createMessage', { messages: [], maxTokens: 1 }],
  ['no/such', {}],
  ['__proto__', {}],
  ['', {}],
]

const INITIALIZE: Json = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'fuzzer', version: '1' },
}

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1, 1.5, 1e308, -1e-9, 2 ** 53 + 2],
  ...['', ' ', 'x', '\u0000', 'a\u0000b', '\ud800', '\udc00 tea', '\u202e', '😀'.repeat(50), 'İ'],
  ...[[], {}, [[]], [null], [1, 'a', {}], { a: { b: { c: [] } } }, deep(300), deep(3000)],
  ...['x'.repeat(20_000), 'tea '.repeat(30_000), '%', '%2F', '../../etc/passwd', '__proto__'],
  ...[DOCUMENT, 'eider://documents/mindsdb/docs/%00', 'eider://documents/%/%/%', 'eider://'],
  ...['eider://schemas/files/x', 'file:///etc/passwd', 'http://[::1', 'data:,x'],
  ...['s0', 's999999999', 'd1.0', 'd1.999999999999999999', 'd999999999999999.0', 'd-1.0'],
  ...["'; DROP TABLE docs; --", 'SELECT 1; SELECT 2', 'DELETE FROM docs', '/*', '((((', '"', '`'],
  ...['SELECT * FROM read_csv("/etc/passwd")', "SELECT getenv('HOME')", 'PRAGMA version'],
  ...["SELECT repeat('x', 3000000)", "SELECT '\ud800'", 'SELECT 1/0', 'SELECT error(1)'],
  ...[
    'SELECT MAP {1: 2}',
    "SELECT 'NaN'::DOUBLE",
    "SELECT 'infinity'::DATE",
    "SELECT '\\x00'::BLOB",
  ],
  ...['SELECT UNNEST([1,2])', 'VALUES (1), (2)', 'DESCRIBE docs', 'EXPLAIN SELECT 1', 'FROM docs'],
  ...['mindsdb.docs', 'MINDSDB.Docs', '`mindsdb`.`docs`', 'mindsdb.nothing', 'nothing.docs', '.'],
  ...['mindsdb.helper', 'information_schema.tables', 'files', 'hybrid', 'vector', 'new'],
]
const NAMES = [
  'name',
  'arguments',
  'uri',
  'cursor',
  '_meta',
  'task',
  'query',
  'sql',
  'limit',
  '$or',
]

/** Sends requests derived from its seed, and records what was wrong with the responses. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { requests, atOnce } = options
  const fuzzer = new Fuzzer(options)
  let left = requests
  const send = async () => {
    for (; left > 0; ) {
      left -= 1
      await fuzzer.one()
    }
  }
  await Promise.all(Array.from({ length: atOnce }, send))
  await fuzzer.end()
  return fuzzer.report
}

interface Order {
  /** The client that sends it. */
  readonly client: number
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
}

class Fuzzer {
  readonly report: FuzzReport = { wrong: [], seen: new Map() }
  readonly #options: FuzzOptions
  readonly #random: () => number
  /** The sessions of each client, some of which have ended. */
  readonly #sessions: string[][]
  #id = 0

  constructor(options: FuzzOptions) {
    this.#options = options
    this.#sessions = options.clients.map(() => [])
    this.#random = randomOf(options.seed)
  }

  async one(): Promise<void> {
    const isLeaving = this.#is(0.08)
    const order = this.#order(isLeaving && this.#is(0.3))
    const waitMs = isLeaving ? this.#random() * 30 : order.method === 'GET' ? 60 : HANG_MS
    const signal = AbortSignal.timeout(waitMs)
    try {
      const response = await fetch(`${this.#options.url}/mcp`, { ...order, signal } as RequestInit)
      const session = response.headers.get('mcp-session-id')
      if (session !== null) this.#sessions[order.client]?.unshift(session)
      this.#saw(`${order.method} ${response.status}`)
      if (response.status >= 500) this.#wrong(`status ${response.status}`, order)
      this.#judge(await response.text(), order)
    } catch (error) {
      if (!signal.aborted) this.#wrong(String(error), order)
      else if (waitMs === HANG_MS) this.#wrong('no answer', order)
    }
  }

  async end(): Promise<void> {
    for (const [index, ids] of this.#sessions.entries()) {
      for (const id of ids) {
        const headers = { ...this.#options.clients[index], 'mcp-session-id': id }
        await fetch(`${this.#options.url}/mcp`, { method: 'DELETE', headers })
      }
    }
  }

  #judge(text: string, order: Order): void {
    for (const [, code = ''] of text.matchAll(/"code":(-\d+)/g)) this.#saw(code)
    for (const [, code = ''] of text.matchAll(/"eider\/code":"(\w+)"/g)) this.#saw(code)
    for (const [, tool = ''] of text.matchAll(/"(structuredContent)"/g)) this.#saw(tool)
    if (/"code":-32603|"eider\/code":"internal|\bat \S+ \(\S+:\d+:\d+\)/.test(text)) {
      this.#wrong(`an internal error: ${text.slice(0, 500)}`, order)
    }
    for (const line of text.split('\n')) {
      if (!line.startsWith('data: {')) continue
      const { id, method, result, error } = JSON.parse(line.slice(6)) as Json
      const isAnswer = id !== undefined && (result === undefined) !== (error === undefined)
      if (!isAnswer && method === undefined) this.#wrong(`no message: ${line}`, order)
    }
  }

  #saw(what: string): void {
    const { seen } = this.report
    seen.set(what, (seen.get(what) ?? 0) + 1)
  }

  #wrong(what: string, { method, headers, body }: Order): void {
    const sent = `${method} ${JSON.stringify(headers)} ${body?.slice(0, 1500)}`
    this.report.wrong.push(`${what}\n  sent ${sent}`)
  }

  #is(share: number): boolean {
    return this.#random() < share
  }

  #of<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T
  }

  #order(isLong: boolean): Order {
    const { clients } = this.#options
    const client = Math.floor(this.#random() * clients.length)
    const method = this.#is(0.94) ? 'POST' : this.#of(['GET', 'DELETE', 'PUT', 'HEAD', 'OPTIONS'])
    const headers: Record<string, string> = {
      accept: this.#is(0.97) ? 'application/json, text/event-stream' : this.#of(['*/*', '', 'a']),
      'content-type': this.#is(0.98) ? 'application/json' : this.#of(['text/plain', '', 'a/b; x']),
      ...clients[client],
    }
    if (this.#is(0.5)) headers['mcp-session-id'] = this.#session(client)
    if (this.#is(0.1)) headers['mcp-protocol-version'] = this.#of(['2025-06-18', '1', '', '[]'])
    if (this.#is(0.03)) headers['last-event-id'] = this.#of(['5', ''])
    if (this.#is(0.02)) headers.origin = this.#of(['http://evil.example', 'null', 'x'])
    const body = method === 'POST' || method === 'PUT' ? this.#body() : undefined
    if (!isLong) return { client, method, headers, body }
    this.#id += 1
    const params = { name: 'query', arguments: { sql: LONG } }
    const long = { jsonrpc: '2.0', id: this.#id, method: 'tools/call', params }
    return { client, method: 'POST', headers, body: JSON.stringify(long) }
  }

  /** Usually returns a session of its own. */
  #session(client: number): string {
    if (this.#is(0.05)) return this.#of(['', 'x', '../..', 'a'.repeat(3000)])
    if (this.#is(0.05)) return this.#of(this.#of(this.#sessions)) ?? ''
    return this.#of((this.#sessions[client] ?? []).slice(0, 5)) ?? ''
  }

  #body(): string {
    if (this.#is(0.04)) return this.#of(['', '{', '[]', 'null', '7', '[1]', '{"jsonrpc":"2.0"}'])
    if (this.#is(0.06)) {
      const count = Math.floor(this.#random() * 12)
      return JSON.stringify(Array.from({ length: count }, () => this.#message()))
    }
    const text = JSON.stringify(this.#message())
    if (this.#is(0.03)) return text.slice(0, Math.floor(this.#random() * text.length))
    if (this.#is(0.02)) return text.replace('{', '{"__proto__":{"a":1},"method":"ping",')
    return text
  }

  #message(): Json {
    this.#id += 1
    const id = this.#is(0.9) ? this.#id : this.#of([1, 'a', '', 0.5, -1, 1e300, 'x'.repeat(5000)])
    const message: Json = { jsonrpc: '2.0', id, ...this.#request() }
    if (String(message.method).startsWith('notifications/')) Reflect.deleteProperty(message, 'id')
    if (this.#is(0.03))
      message[this.#of(['id', 'method', 'params', 'result', 'error'])] = this.#value()
    if (this.#is(0.02)) Reflect.deleteProperty(message, this.#of(['id', 'method', 'jsonrpc']))
    return message
  }

  #request(): Json {
    if (this.#is(0.06)) {
      return { method: 'initialize', params: this.#changed(INITIALIZE, this.#is(0.7) ? 0 : 1) }
    }
    const changes = this.#of([0, 1, 1, 2])
    if (this.#is(0.35)) {
      const [method, params] = this.#of(METHODS)
      return { method, ...(params === undefined ? {} : { params: this.#changed(params, changes) }) }
    }
    const [name, args] = this.#of(CALLS)
    const params: Json = { name, arguments: this.#changed(args, changes) }
    if (this.#is(0.1)) params._meta = { progressToken: this.#is(0.7) ? this.#id : this.#value() }
    if (this.#is(0.03)) params.task = this.#value()
    return { method: 'tools/call', params: this.#is(0.05) ? this.#changed(params, 1) : params }
  }

  #value(): unknown {
    return structuredClone(this.#of(VALUES))
  }

  /** Returns a copy in which this many parts were removed, replaced or added. */
  #changed(right: Json, changes: number): unknown {
    const copy = structuredClone(right)
    for (let change = 0; change < changes; change += 1) {
      const place = this.#place(copy)
      const key = this.#of([...Object.keys(place), this.#of(NAMES)])
      if (this.#is(0.15)) Reflect.deleteProperty(place, key)
      else place[key] = this.#is(0.15) ? { [this.#of(NAMES)]: this.#value() } : this.#value()
    }
    return copy
  }

  /** Returns an object or a list somewhere inside the value. */
  #place(value: Json): Json {
    const inner = Object.values(value).filter((one) => typeof one === 'object' && one !== null)
    return inner.length === 0 || this.#is(0.5) ? value : this.#place(this.#of(inner) as Json)
  }
}
