/** The PostgreSQL port: accepts and encrypts connections, and limits how fast they are read. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Socket } from 'bun'
import type { Peer } from '../http/access/rate-limits.ts'
import type { ConnectionDeps, PgConnection, Wire } from './pg-connection.ts'

interface PostgresAddress {
  readonly hostname: string
  readonly port: number
  /** The certificate and key in PEM; null if connections are not encrypted. */
  readonly tls: { readonly cert: string; readonly key: string } | null
}

export interface PostgresListener {
  readonly port: number
  /** Ends all connections; busy ones get `graceMs` to finish. */
  stop(graceMs: number): Promise<void>
}

const PG_CLIENTS_MAX = 1_000
/** For refusing clients with a message and for cancelling statements. */
const SPARE_CONNECTIONS = 100
const LOGIN_MS = 10_000
const KEEP_ALIVE_MS = 60_000
/** A client that reads nothing for this long is considered disconnected. */
const STALLED_MS = 60_000
/** How long a client may keep the connection open after being told that it has ended. */
const CLOSING_MS = 2_000
/** If more output than this is waiting for the client, its statement pauses. */
const WAITING_BYTES_MAX = 1024 * 1024
const SECRET_BYTES = 32

export type ConnectionParts = Omit<ConnectionDeps, 'cancel' | 'isFull' | 'processId' | 'secret'>

interface Client {
  readonly wire: SocketWire
  /** null while the protocol code is loading; nothing is read until then. */
  connection: PgConnection | null
}

/** @throws Error of the operating system if the port cannot be used */
export function listenPostgres(
  { hostname, port, tls }: PostgresAddress,
  partsFor: (peer: Peer, processId: number) => Promise<ConnectionParts>,
): PostgresListener {
  const clients = new Map<number, Client>()
  let lastId = 0
  const cancel: ConnectionDeps['cancel'] = (processId, key) => {
    const connection = clients.get(processId)?.connection
    if (connection && isSame(connection.cancelKey, key)) connection.cancelStatement()
  }
  const accept = (socket: Socket<Client>) => {
    lastId += 1
    const processId = lastId
    const address = socket.remoteAddress.replace(/^::ffff:(?=[\d.]+$)/i, '')
    const wire = new SocketWire(socket, address, tls)
    const client = { wire, connection: null }
    socket.data = client
    if (clients.size >= PG_CLIENTS_MAX + SPARE_CONNECTIONS) {
      socket.terminate()
      return
    }
    const isFull = clients.size >= PG_CLIENTS_MAX
    clients.set(processId, client)
    wire.onClosed = () => clients.delete(processId)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    wire.pause()
    const peer = { address, port: socket.remotePort }
    void beginConnection(client, async () => {
      const parts = await partsFor(peer, processId)
      return { ...parts, cancel, isFull, processId, secret: randomBytes(SECRET_BYTES) }
    })
  }
  const listener = Bun.listen<Client>({
    hostname,
    port,
    socket: {
      open: accept,
      data: ({ data: client }, bytes) => {
        // On an encrypted connection, the encrypted bytes arrive here too and are ignored.
        if (!client.wire.isEncrypted) received(client, bytes)
      },
      drain: (socket) => socket.data.wire.drain(),
      close: (socket) => closed(socket.data),
      error: (socket) => closed(socket.data),
    },
  })
  return {
    port: listener.port,
    async stop(graceMs) {
      listener.stop()
      const deadline = performance.now() + graceMs
      for (const { connection, wire } of clients.values()) {
        if (connection?.isBusy !== true) {
          connection?.shutDown()
          wire.end()
        }
      }
      while (clients.size > 0 && performance.now() < deadline) await Bun.sleep(STOP_LOOK_MS)
      for (const { connection, wire } of clients.values()) {
        connection?.shutDown()
        wire.end()
      }
    },
  }
}

const STOP_LOOK_MS = 20

/** Loads the protocol code with the first connection. */
async function beginConnection(
  client: Client,
  depsOf: () => Promise<ConnectionDeps>,
): Promise<void> {
  const [{ PgConnection }, deps] = await Promise.all([import('./pg-connection.ts'), depsOf()])
  if (client.wire.isClosed) return
  const connection = new PgConnection(client.wire, deps)
  client.connection = connection
  client.wire.resume()
  setTimeout(() => {
    if (!connection.isKnown) client.wire.end()
  }, LOGIN_MS).unref()
}

function received(client: Client, bytes: Uint8Array): void {
  // A copy, because Bun reuses the memory.
  client.connection?.receive(Buffer.from(bytes))
}

function isSame(key: Buffer, sent: Buffer): boolean {
  return key.length === sent.length && timingSafeEqual(key, sent)
}

function closed(client: Client | undefined): void {
  if (client === undefined || client.wire.isClosed) return
  client.wire.closed()
  client.connection?.closed()
}

class SocketWire implements Wire {
  readonly address: string
  readonly isLoopback: boolean
  isEncrypted = false
  isClosed = false
  onClosed = () => {}
  readonly #tls: PostgresAddress['tls']
  #socket: Socket<Client>
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #onDrained: (() => void)[] = []
  #isEnding = false
  #isPaused = false
  #stall: ReturnType<typeof setTimeout> | undefined

  constructor(socket: Socket<Client>, address: string, tls: PostgresAddress['tls']) {
    this.#socket = socket
    this.#tls = tls
    this.address = address
    this.isLoopback = address === '::1' || address.startsWith('127.')
  }

  write(bytes: Uint8Array): void {
    if (this.isClosed || this.#isEnding) return
    const sent = this.#waiting.length > 0 ? 0 : Math.max(0, this.#socket.write(bytes))
    if (sent >= bytes.length) return
    this.#waiting.push(bytes.subarray(sent))
    this.#waitingBytes += bytes.length - sent
    this.#stall ??= setTimeout(() => this.#abandon(), STALLED_MS)
  }

  drain(): void {
    clearTimeout(this.#stall)
    this.#stall = undefined
    while (this.#waiting.length > 0) {
      const [first] = this.#waiting
      if (first === undefined) break
      const sent = Math.max(0, this.#socket.write(first))
      this.#waitingBytes -= sent
      if (sent < first.length) {
        this.#waiting[0] = first.subarray(sent)
        this.#stall = setTimeout(() => this.#abandon(), STALLED_MS)
        break
      }
      this.#waiting.shift()
    }
    if (this.#waitingBytes <= WAITING_BYTES_MAX) this.#release()
    if (this.#isEnding && this.#waiting.length === 0) this.#close()
  }

  async drained(): Promise<void> {
    if (this.#waitingBytes > WAITING_BYTES_MAX && !this.isClosed) {
      await new Promise<void>((resolve) => this.#onDrained.push(resolve))
    }
    if (this.isClosed) throw new Error('the client has disconnected')
  }

  encrypt(): boolean {
    this.#socket.write(this.#tls === null ? 'N' : 'S')
    if (this.#tls === null) return false
    const client = this.#socket.data
    const [, encrypted] = this.#socket.upgradeTLS<Client>({
      data: client,
      tls: this.#tls,
      socket: {
        data: (_, bytes) => received(client, bytes),
        drain: () => this.drain(),
        close: () => closed(client),
        error: () => closed(client),
        handshake: () => {},
      },
    })
    this.#socket = encrypted
    this.isEncrypted = true
    return true
  }

  pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#isPaused || this.isClosed) return
    this.#isPaused = false
    this.#socket.resume()
  }

  end(): void {
    if (this.isClosed || this.#isEnding) return
    this.#isEnding = true
    if (this.#waiting.length === 0) this.#close()
  }

  closed(): void {
    this.isClosed = true
    clearTimeout(this.#stall)
    this.#waiting = []
    this.#release()
    this.onClosed()
  }

  #close(): void {
    this.#socket.end()
    this.#stall = setTimeout(() => this.#abandon(), CLOSING_MS)
  }

  #release(): void {
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }

  #abandon(): void {
    this.#socket.terminate()
  }
}
