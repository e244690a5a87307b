/** A server with a PostgreSQL port, node-postgres, and a client that sends arbitrary bytes. */
import { connect, type Socket } from 'node:net'
import pg from 'pg'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

export interface Served {
  readonly t: TestApp
  readonly port: number
  stop(): Promise<void>
}

export async function serve(environment: Record<string, string> = {}): Promise<Served> {
  const t = await createTestApp({ environment: { EIDER_PG_PORT: '0', ...environment } })
  const listener = t.app.listen({ hostname: '127.0.0.1', port: 0 })
  const stop = async () => {
    await listener.stop(0)
    await t.close()
  }
  return { t, port: listener.postgresPort ?? 0, stop }
}

/** Adds a knowledge base of two teas, which most of these tests use. */
export async function addTeas({ t }: Served): Promise<void> {
  const kbs = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', kbs, { knowledge_base: { name: 'teas' } })
  const rows = [
    { id: 1, content: 'sencha is a green tea', price: 9 },
    { id: 2, content: 'rooibos has no caffeine', price: 5 },
  ]
  await t.send('PUT', `${kbs}/teas`, { knowledge_base: { rows } })
}

export async function withClient<T>(
  { port }: Served,
  use: (client: pg.Client) => Promise<T>,
  config: pg.ClientConfig = {},
): Promise<T> {
  const where = { host: '127.0.0.1', port, user: 'eider', database: 'mindsdb' }
  const client = new pg.Client({ ...where, ...config })
  client.on('error', () => {})
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

export interface Received {
  readonly kind: string
  readonly body: Buffer
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value & 0xffff)
  return bytes
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value | 0)
  return bytes
}

/** Returns a text with its terminating zero. */
export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`)
}

export function message(kind: string, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body])
}

/** @param parameters name, value, name, value … */
export function startPacket(parameters: readonly string[], version = 196_608): Buffer {
  return message('', int32(version), ...parameters.map(text), Buffer.from([0]))
}

export const START = startPacket(['user', 'eider', 'database', 'mindsdb'])

/** Returns the fields of an ErrorResponse by their letters. */
export function failureOf({
  body,
}: Received): Readonly<Partial<Record<'S' | 'C' | 'M' | 'H' | 'P', string>>> {
  const parts = body.toString().split('\0').filter(Boolean)
  return Object.fromEntries(parts.map((part) => [part.slice(0, 1), part.slice(1)]))
}

/** Splits bytes into messages. */
export class Inbox {
  #bytes = Buffer.alloc(0)

  push(bytes: Uint8Array): readonly Received[] {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    const received: Received[] = []
    while (this.#bytes.length >= 5) {
      const end = this.#bytes.readInt32BE(1) + 1
      if (this.#bytes.length < end) break
      const kind = this.#bytes.toString('latin1', 0, 1)
      received.push({ kind, body: Buffer.from(this.#bytes.subarray(5, end)) })
      this.#bytes = this.#bytes.subarray(end)
    }
    return received
  }
}

/** A connection that sends arbitrary bytes and reads messages. */
export class RawClient {
  readonly socket: Socket
  readonly closed: Promise<void>
  readonly #inbox = new Inbox()
  readonly #received: Received[] = []
  #wake = () => {}
  #isOver = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', (bytes) => {
      this.#received.push(...this.#inbox.push(Buffer.from(bytes)))
      this.#wake()
    })
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#isOver = true
        this.#wake()
        resolve()
      })
    })
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1')
    const client = new RawClient(socket)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return client
  }

  /** Opens a logged-in connection to a server that asks for no password. */
  static async started(port: number): Promise<RawClient> {
    const client = await RawClient.open(port)
    client.send(START)
    await client.until('Z')
    return client
  }

  send(...pieces: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(pieces))
  }

  /** Returns everything up to the next message of this kind, or to the end of the connection. */
  async until(kind: string): Promise<readonly Received[]> {
    for (;;) {
      const at = this.#received.findIndex((one) => one.kind === kind)
      if (at !== -1) return this.#received.splice(0, at + 1)
      if (this.#isOver) return this.#received.splice(0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  close(): void {
    this.socket.destroy()
  }
}
