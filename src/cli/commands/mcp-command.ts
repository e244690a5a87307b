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

interface Opened {
  readonly id: string
  readonly version: string
}

class Bridge {
  readonly #client: HttpClient
  readonly #output: Output
  readonly #signal: AbortSignal
  readonly #pending = new Set<Promise<void>>()
  /** The program's `initialize` message, kept so that it can be sent to a restarted server. */
  #initialize: Message | undefined
  #opening: Promise<Opened | undefined> = Promise.resolve(undefined)
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
    const opened = await this.#opening.catch(() => undefined)
    if (opened === undefined) return
    const signal = AbortSignal.timeout(GOODBYE_MS)
    const headers = sessionHeaders(opened)
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
      else await this.#forward(message, await this.#opening.catch(() => undefined))
    } catch (error) {
      if (this.#signal.aborted) return
      if (!(error instanceof CommandError)) throw error
      await this.#failed(message, error)
    }
  }

  async #open(message: Message): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<Opened | undefined>()
    this.#opening = promise
    let opened: Opened | undefined
    try {
      const response = await this.#post(message, undefined)
      opened = await this.#opened(response, (answer) => this.#write(answer))
      this.#initialize = message
    } finally {
      resolve(opened)
    }
  }

  async #opened(
    response: Response,
    onAnswer: (answer: Message) => Promise<void>,
  ): Promise<Opened | undefined> {
    const id = response.headers.get('mcp-session-id')
    let version = ''
    for await (const answer of this.#messagesOf(response)) {
      const { result } = answer
      if (isObject(result)) version = String(result.protocolVersion)
      await onAnswer(answer)
    }
    return id === null || version === '' ? undefined : { id, version }
  }

  async #forward(message: Message | readonly unknown[], opened: Opened | undefined): Promise<void> {
    let response: Response
    try {
      response = await this.#post(message, opened)
    } catch (error) {
      const isLost = error instanceof CommandError && error.status === 404 && opened !== undefined
      if (!isLost) throw error
      response = await this.#post(message, await this.#reopened(opened))
    }
    for await (const answer of this.#messagesOf(response)) await this.#write(answer)
  }

  /** Opens a new session, once for all requests that found the old one closed. */
  async #reopened(lost: Opened): Promise<Opened | undefined> {
    const current = await this.#opening.catch(() => undefined)
    const initialize = this.#initialize
    if (initialize === undefined || current?.id !== lost.id) return current
    const { promise, resolve } = Promise.withResolvers<Opened | undefined>()
    this.#opening = promise
    let opened: Opened | undefined
    try {
      opened = await this.#opened(await this.#post(initialize, undefined), async () => {})
      const ready = { jsonrpc: '2.0', method: 'notifications/initialized' }
      await (await this.#post(ready, opened)).text()
    } finally {
      resolve(opened)
    }
    return opened
  }

  async #post(json: unknown, opened: Opened | undefined): Promise<Response> {
    const headers = { accept: 'application/json, text/event-stream', ...sessionHeaders(opened) }
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

function sessionHeaders(opened: Opened | undefined): Readonly<Record<string, string>> {
  if (opened === undefined) return {}
  return { 'mcp-session-id': opened.id, 'mcp-protocol-version': opened.version }
}

function isInitialize(message: Message | readonly unknown[]): message is Message {
  return isObject(message) && message.method === 'initialize'
}

/** Returns undefined if the text is not a message. */
function messageIn(text: string): Message | readonly unknown[] | undefined {
  const value = parsedJson(text)
  return isObject(value) || Array.isArray(value) ? value : undefined
}
