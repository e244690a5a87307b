/**
 * Preloaded into a server that is measured (`BUN_OPTIONS=--preload=…`), so that nothing of it is in the product: how late
 * a timer comes on the server's own thread, and how much of that the thread waited for a core. Who connects to the socket
 * named in the environment gets all ticks since the last time, as one JSON list of `[late, waited]` in milliseconds.
 */
import { openSync, readSync } from 'node:fs'
import { createServer } from 'node:net'

export type Tick = readonly [lateMs: number, waitedMs: number]

const TICK_MS = 5
const SOCKET = 'BENCH_LAG_SOCKET'

const path = process.env[SOCKET]
// Processes and threads of the server are not measured.
delete process.env[SOCKET]
delete process.env.BUN_OPTIONS
if (path !== undefined && Bun.isMainThread) measure(path)

function measure(socketPath: string): void {
  const waited = waitedReader()
  let ticks: Tick[] = []
  let last = performance.now()
  let lastWaited = waited()
  setInterval(() => {
    const now = performance.now()
    const nowWaited = waited()
    ticks.push([Math.max(0, now - last - TICK_MS), nowWaited - lastWaited])
    last = now
    lastWaited = nowWaited
  }, TICK_MS).unref()
  const server = createServer((socket) => {
    const taken = ticks
    ticks = []
    socket.on('error', () => {})
    socket.end(JSON.stringify(taken))
  })
  server.listen(socketPath)
  server.unref()
}

/** Milliseconds that this thread was ready to run and another one had the core; 0 where Linux does not say. */
function waitedReader(): () => number {
  const buffer = Buffer.alloc(64)
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r')
    return () => {
      const text = buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0))
      return Number(text.split(' ')[1] ?? 0) / 1e6
    }
  } catch {
    return () => 0
  }
}
