/**
 * A separate process that sends a request to the address in its first argument every 5 ms until its
 * input ends, then prints the latencies in milliseconds, ascending, as one JSON list. Ticks are due
 * by the clock, so that a blocked server delays none.
 */
const TICK_MS = 5
const PINGS_MAX = 100_000
const PING_MS_MAX = 60_000

const [, , url] = process.argv
if (url === undefined) throw new Error('usage: ping-ticker.ts <address>')
const address = url

const latenciesMs: number[] = []
const running = new Set<Promise<void>>()
let sent = 0

async function ping(): Promise<void> {
  const sentAt = performance.now()
  const answer = await fetch(address, { signal: AbortSignal.timeout(PING_MS_MAX) })
  await answer.arrayBuffer()
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}`)
  latenciesMs.push(performance.now() - sentAt)
}

const timer = setInterval(() => {
  if (sent >= PINGS_MAX) return
  sent += 1
  const one = ping().finally(() => running.delete(one))
  running.add(one)
}, TICK_MS)

await Bun.stdin.bytes()
clearInterval(timer)
await Promise.all(running)
console.log(JSON.stringify(latenciesMs.sort((a, b) => a - b)))

export {}
