/** Servers that violate their protocol: a process with one port for each kind of misbehaviour. */
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** A connection as the kinds of misbehaviour use it. */
export class Peer {
  readonly #socket: Socket
  #received = Buffer.alloc(0)
  #changed = Promise.withResolvers<void>()
  #drained = Promise.withResolvers<void>()
  #isClosed = false

  constructor(socket: Socket, note: (bytes: Buffer) => void) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      const piece = Buffer.from(bytes)
      note(piece)
      this.#received = Buffer.concat([this.#received, piece])
      this.#changed.resolve()
    })
    socket.on('drain', () => this.#drained.resolve())
    socket.on('close', () => {
      this.#isClosed = true
      this.#changed.resolve()
      this.#drained.resolve()
    })
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Sends the parts, and waits while the client does not read them. */
  async send(...parts: readonly Uint8Array[]): Promise<void> {
    if (this.#isClosed) throw new Error('closed')
    this.#drained = Promise.withResolvers()
    if (!this.#socket.write(Buffer.concat(parts))) await this.#drained.promise
  }

  /** Returns the next bytes from the client. */
  async take(count: number): Promise<Buffer> {
    while (this.#received.length < count) {
      if (this.#isClosed) throw new Error('closed')
      await this.#changed.promise
      if (!this.#isClosed) this.#changed = Promise.withResolvers()
    }
    const taken = this.#received.subarray(0, count)
    this.#received = this.#received.subarray(count)
    return taken
  }

  reset(): void {
    this.#socket.resetAndDestroy()
  }

  /** Waits until the client disconnects. */
  async silence(): Promise<void> {
    while (!this.#isClosed) await this.take(1)
  }
}

export type Behaviour = (peer: Peer) => Promise<void>

export async function forever(work: () => Promise<void>): Promise<never> {
  for (;;) await work()
}

export const MB = 1024 * 1024
export const piece = Buffer.alloc(MB, 'x')

export async function endlessBytes(peer: Peer): Promise<void> {
  await forever(() => peer.send(piece))
}

export const silent: Behaviour = (peer) => peer.silence()
export const reset: Behaviour = async (peer) => peer.reset()

export function sends(...parts: readonly Uint8Array[]): Behaviour {
  return async (peer) => {
    await peer.send(...parts)
    await peer.silence()
  }
}

/**
 * Runs in the process. Prints `kind port` for each server, then answers each requested kind with
 * the number of its open connections and all received bytes in hex.
 */
export async function serveBehaviours(
  behaviours: Readonly<Record<string, Behaviour>>,
): Promise<void> {
  const received = new Map<string, Buffer>()
  const open = new Map<string, number>()
  for (const [kind, behave] of Object.entries(behaviours)) {
    const note = (bytes: Buffer) => {
      const before = received.get(kind) ?? Buffer.alloc(0)
      received.set(kind, Buffer.concat([before, bytes]).subarray(0, 1_000_000))
    }
    const count = (change: number) => open.set(kind, (open.get(kind) ?? 0) + change)
    const server = createServer((socket) => {
      count(1)
      socket.once('close', () => count(-1))
      behave(new Peer(socket, note)).then(
        () => socket.end(),
        () => socket.destroy(),
      )
    })
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      if (typeof address === 'object') process.stdout.write(`${kind} ${address?.port}\n`)
    })
  }
  const questions = createInterface({ input: process.stdin })
  questions.on('line', (kind) => {
    const bytes = received.get(kind)?.toString('hex') ?? ''
    process.stdout.write(`received ${open.get(kind) ?? 0} ${bytes}\n`)
  })
  questions.on('close', () => process.exit(0))
}

export interface MisbehavingServer {
  portOf(kind: string): number
  /** Returns everything that clients have sent to it. */
  receivedBy(kind: string): Promise<Buffer>
  /** Returns how many connections to it the client has not closed. */
  openOf(kind: string): Promise<number>
  stop(): Promise<void>
}

interface PeerState {
  readonly open: number
  readonly received: Buffer
}

/** @param entry a file that calls `serveBehaviours` */
export async function startMisbehaving(
  entry: string,
  kinds: readonly string[],
): Promise<MisbehavingServer> {
  const child = Bun.spawn([process.execPath, entry], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const ports = new Map<string, number>()
  /** Requests that wait for an answer, in order. */
  const waiting: ((state: PeerState) => void)[] = []
  const ready = Promise.withResolvers<void>()
  void eachLine(child.stdout, (line) => {
    const [kind = '', rest = '', bytes = ''] = line.split(' ')
    if (kind === 'received') {
      return waiting.shift()?.({ open: Number(rest), received: Buffer.from(bytes, 'hex') })
    }
    ports.set(kind, Number(rest))
    if (kinds.every((one) => ports.has(one))) ready.resolve()
  })
  await ready.promise
  const stateOf = (kind: string) => {
    const { promise, resolve } = Promise.withResolvers<PeerState>()
    waiting.push(resolve)
    child.stdin.write(`${kind}\n`)
    child.stdin.flush()
    return promise
  }
  return {
    portOf(kind) {
      const port = ports.get(kind)
      if (port === undefined) throw new Error(`no such behaviour: ${kind}`)
      return port
    },
    receivedBy: async (kind) => (await stateOf(kind)).received,
    openOf: async (kind) => (await stateOf(kind)).open,
    async stop() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

async function eachLine(
  output: ReadableStream<Uint8Array>,
  use: (line: string) => void,
): Promise<void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true })
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) use(line)
  }
}
