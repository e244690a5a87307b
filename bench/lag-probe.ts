/**
 * Preloaded into a measured server (`BUN_OPTIONS=--preload=…`), so that the product itself contains
 * no measuring code. It measures how late a timer fires on the server's own thread, and how much of
 * that time the thread waited for a core. A client of the socket named in the environment gets all
 * ticks since the last time, as a JSON list of `[late, waited]` in milliseconds.
 */
import { openSync, readSync } from 'node:fs'
import { createServer } from 'node:net'

export type Tick = readonly [lateMs: number, waitedMs: number]

const TICK_MS = 5
const SOCKET = 'BENCH_LAG_SOCKET'

const path = process.env[SOCKET]
// Do not measure the server's other processes and threads.
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

/**
 * Returns a function that measures how many milliseconds this thread was ready but had no core; 0
 * if unknown.
 */
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
