/**
 * `eider mcp` connects programs that speak the Model Context Protocol over standard input and
 * output, one message per line, to the server's `/mcp`. Nothing else is written to standard output.
 */
import { isObject, type JsonObject, parsedJson } from '../../core/json.ts'
import type { RunCommand } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { eventsOf, type HttpClient, streamLines } from '../http-client.ts'
import type { Output } from '../output.ts'

/** Delays between attempts to reach a server that answered before and is probably restarting. */
const RETRY_MS = [250, 500, 1_000, 2_000, 4_000]
const GOODBYE_MS = 1_000
const PARSE_ERROR = -32700
const SERVER_ERROR = -32000

export const run: RunCommand = async ({ client, output, signal }) => {
  const bridge = new Bridge(client, output, signal)
  const input = new Response(Bun.stdin.stream())
  try {
    for await (const line of stoppable(streamLines(input, client, signal), signal))
      bridge.take(line)
    await bridge.settled()
  } finally {
    await bridge.close()
  }
  return undefined
}

/** Yields the lines until the signal aborts. Reading standard input itself cannot be aborted. */
async function* stoppable(lines: AsyncGenerator<string>, signal: AbortSignal) {
  const stopped = new Promise<{ readonly done: true; readonly value: undefined }>((resolve) => {
    signal.addEventListener('abort', () => resolve({ done: true, value: undefined }))
  })
  for (;;) {
    const { done, value } = await Promise.race([stopped, lines.next()])
    if (done === true || signal.aborted) return
    yield value
  }
}

type Message = JsonObject

type SessionHeaders = Readonly<Record<string, string>>

class Bridge {
  readonly #client: HttpClient
  readonly #output: Output
  readonly #signal: AbortSignal
  readonly #pending = new Set<Promise<void>>()
  /** The headers that `initialize` returns; a restarted server takes them too. */
  #session: Promise<SessionHeaders> = Promise.resolve({})
  #hasAnswered = false

  constructor(client: HttpClient, output: Output, signal: AbortSignal) {
    this.#client = client
    this.#output = output
    this.#signal = signal
  }

  /** Answers are written as soon as they are ready, in any order. */
  take(line: string): void {
    if (line.trim() === '') return
    const work = this.#answer(line).finally(() => this.#pending.delete(work))
    this.#pending.add(work)
  }

  async settled(): Promise<void> {
    await Promise.all(this.#pending)
  }

  async close(): Promise<void> {
    const headers = await this.#session
    if (headers['mcp-session-id'] === undefined) return
    const signal = AbortSignal.timeout(GOODBYE_MS)
    await this.#client.open('DELETE', '/mcp', { headers, signal }).catch(() => undefined)
  }

  async #answer(line: string): Promise<void> {
    const message = messageIn(line)
    if (message === undefined) {
      const error = { code: PARSE_ERROR, message: 'The line is not a JSON-RPC message' }
      return this.#write({ jsonrpc: '2.0', id: null, error })
    }
    try {
      if (isInitialize(message)) await this.#open(message)
      else await this.#forward(message, await this.#session)
    } catch (error) {
      if (this.#signal.aborted) return
      if (!(error instanceof CommandError)) throw error
      await this.#failed(message, error)
    }
  }

  async #open(message: Message): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<SessionHeaders>()
    this.#session = promise
    try {
      resolve(await this.#opened(message))
    } finally {
      resolve({})
    }
  }

  async #opened(message: Message): Promise<SessionHeaders> {
    const response = await this.#post(message, {})
    const id = response.headers.get('mcp-session-id')
    let version: unknown
    for await (const answer of this.#messagesOf(response)) {
      if (isObject(answer.result)) version = answer.result.protocolVersion
      await this.#write(answer)
    }
    if (id === null || typeof version !== 'string') return {}
    return { 'mcp-session-id': id, 'mcp-protocol-version': version }
  }

  async #forward(message: Message | readonly unknown[], session: SessionHeaders): Promise<void> {
    const response = await this.#post(message, session)
    for await (const answer of this.#messagesOf(response)) await this.#write(answer)
  }

  async #post(json: unknown, session: SessionHeaders): Promise<Response> {
    const headers = { accept: 'application/json, text/event-stream', ...session }
    const init = { json, headers, signal: this.#signal }
    for (const ms of this.#hasAnswered ? RETRY_MS : []) {
      try {
        return await this.#client.open('POST', '/mcp', init)
      } catch (error) {
        // The request did not reach the server: the port is closed, or the server is stopping.
        const isGone =
          error instanceof CommandError && /^(no_server|shutting_down)$/.test(error.code)
        if (!isGone || this.#signal.aborted) throw error
        await Bun.sleep(ms)
      }
    }
    const response = await this.#client.open('POST', '/mcp', init)
    this.#hasAnswered = true
    return response
  }

  async *#messagesOf(response: Response): AsyncGenerator<Message> {
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (isStream) {
      for await (const event of eventsOf(response, this.#client, this.#signal)) {
        if (isObject(event)) yield event
      }
      return
    }
    const text = await response.text()
    const answer = text === '' ? undefined : messageIn(text)
    if (isObject(answer)) yield answer
  }

  async #failed(message: Message | readonly unknown[], { code, message: words }: CommandError) {
    const messages = Array.isArray(message) ? message : [message]
    for (const one of messages) {
      // Notifications get no answer.
      if (!isObject(one) || one.id === undefined || one.method === undefined) continue
      const error = { code: SERVER_ERROR, message: words, data: { code } }
      await this.#write({ jsonrpc: '2.0', id: one.id, error })
    }
  }

  async #write(message: Message): Promise<void> {
    await this.#output.line(JSON.stringify(message))
  }
}

function isInitialize(message: Message | readonly unknown[]): message is Message {
  return isObject(message) && message.method === 'initialize'
}

/** Returns undefined if the text is not a message. */
function messageIn(text: string): Message | readonly unknown[] | undefined {
  const value = parsedJson(text)
  return isObject(value) || Array.isArray(value) ? value : undefined
}
