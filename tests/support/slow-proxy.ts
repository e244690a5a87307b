/** A proxy between a client and its server that simulates a slow or broken network. */
import { connect, createServer, type Socket } from 'node:net'

export interface SlowProxy {
  readonly port: number
  /** The delay of every byte, in each direction. A round trip takes twice as long. */
  delayMs: number
  /** Stops all traffic on every connection. */
  isSilent: boolean
  /** How many bytes it has passed in both directions. */
  readonly passedBytes: number
  close(): Promise<void>
}

export async function slowProxy(to: { readonly port: number }): Promise<SlowProxy> {
  const sockets = new Set<Socket>()
  let passedBytes = 0
  const server = createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port: to.port })
    const forward = (from: Socket, target: Socket) => {
      sockets.add(from)
      from.on('data', (bytes) => {
        if (proxy.isSilent) return
        passedBytes += bytes.length
        setTimeout(() => target.writable && target.write(bytes), proxy.delayMs)
      })
      from.on('error', () => target.destroy())
      from.on('close', () => {
        sockets.delete(from)
        setTimeout(() => target.destroy(), proxy.delayMs)
      })
    }
    forward(client, upstream)
    forward(upstream, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const proxy: SlowProxy = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    delayMs: 0,
    isSilent: false,
    get passedBytes() {
      return passedBytes
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}
