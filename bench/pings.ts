/** Sends pings from a separate process, so that work in the measuring process delays none. */
import { join } from 'node:path'

const TICKER = join(import.meta.dir, 'ping-ticker.ts')
const STARTING_MS = 300

export interface Pings {
  /** Their latencies in milliseconds, in ascending order. */
  stop(): Promise<readonly number[]>
  /** Ends the process in any case. */
  end(): Promise<void>
}

export async function startPings(address: string): Promise<Pings> {
  const ticker = Bun.spawn([process.execPath, TICKER, address], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  await Bun.sleep(STARTING_MS)
  return {
    async stop() {
      await ticker.stdin.end()
      const printed = await new Response(ticker.stdout).text()
      if ((await ticker.exited) !== 0) throw new Error('The ping process failed')
      const latenciesMs: readonly number[] = JSON.parse(printed)
      if (latenciesMs.length === 0) throw new Error('No ping was answered')
      return latenciesMs
    },
    async end() {
      ticker.kill()
      await ticker.exited
    },
  }
}
