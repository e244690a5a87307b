/**
 * Sends requests over plain sockets, because for small answers fetch takes as much time as the
 * server.
 */
import { percentile } from './load.ts'

export interface SliceResult {
  readonly count: number
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

interface SocketLoad {
  readonly baseUrl: string
  readonly method: string
  readonly path: string
  readonly bodies: readonly string[]
  readonly clients: number
  readonly seconds: number
}

interface Writable {
  write(bytes: Uint8Array): number
}

/** @param from how many of the bodies were already sent */
export async function socketSlice(load: SocketLoad, from: number): Promise<SliceResult> {
  const latenciesMs: number[] = []
  const { host, hostname, port } = new URL(load.baseUrl)
  const head = `${load.method} /api${load.path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`
  const startedAt = performance.now()
  const endsAt = startedAt + load.seconds * 1000
  let next = from
  const client = async () => {
    const ended = Promise.withResolvers<void>()
    let sentAt = 0
    let received = ''
    let unsent: Uint8Array = new Uint8Array()
    const write = (socket: Writable) => {
      unsent = unsent.subarray(socket.write(unsent))
    }
    const send = (socket: Writable) => {
      const body = load.bodies[next % load.bodies.length] ?? ''
      next += 1
      sentAt = performance.now()
      received = ''
      unsent = Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
      write(socket)
    }
    await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: send,
        drain: write,
        data(socket, bytes) {
          received += bytes.toString('latin1')
          if (!isWhole(received)) return
          if (!/^HTTP\/1\.1 2/.test(received)) ended.reject(new Error(received.slice(0, 500)))
          latenciesMs.push(performance.now() - sentAt)
          if (performance.now() < endsAt) send(socket)
          else socket.end()
        },
        close: () => ended.resolve(),
        error: (_, error) => ended.reject(error),
      },
    })
    await ended.promise
  }
  await Promise.all(Array.from({ length: load.clients }, client))
  latenciesMs.sort((a, b) => a - b)
  return {
    count: latenciesMs.length,
    elapsedMs: performance.now() - startedAt,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
  }
}

/** Whether an answer is complete, with one character per byte. */
export function isWhole(received: string): boolean {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, end))?.[1]
  if (length !== undefined) return received.length >= end + 4 + Number(length)
  return received.endsWith('\r\n0\r\n\r\n')
}
