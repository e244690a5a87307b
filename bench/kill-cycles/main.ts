/**
 * `npm run kill-cycles -- --cycles 1000 [--folder DIR] [--seed N]` repeats writes of every kind, kill -9, a restart and a
 * check. The folder, a temporary one by default, contains the data and `progress.json`, so that the next night continues
 * where the last one ended. A fault ends the run with 1 and leaves the folder unchanged.
 */
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startServer, whileRunning } from '../../scripts/server-process.ts'
import { type CycleResult, type Ledger, runCycle, targetOf } from './cycle.ts'
import type { Choose } from './kind.ts'
import { allKinds, prepare } from './kinds.ts'
import { startStub } from './stub.ts'

interface Progress {
  readonly seed: number
  readonly stubPort: number
  readonly cycles: number
  readonly acknowledged: number
  readonly unanswered: number
  readonly readyMsMax: number
  readonly ledger: Ledger
}

const NEW = { cycles: 0, acknowledged: 0, unanswered: 0, readyMsMax: 0 }

const { values } = parseArgs({
  options: {
    cycles: { type: 'string', default: '50' },
    folder: { type: 'string', default: join(tmpdir(), 'eider-kill-cycles') },
    seed: { type: 'string', default: '1' },
  },
})
process.exitCode = await run(values.folder, Number(values.cycles), Number(values.seed))

async function run(folder: string, cycles: number, seed: number): Promise<number> {
  await mkdir(folder, { recursive: true })
  const dataDirectory = join(folder, 'data')
  let progress = await readProgress(folder)
  const stub = startStub(progress?.stubPort ?? 0)
  try {
    const kinds = allKinds(stub.models)
    if (progress === null) {
      const server = await startServer({ dataDirectory })
      const ledger: Ledger = {}
      await whileRunning(server, async () => {
        const target = targetOf(server, dataDirectory)
        await prepare(target, stub.models)
        for (const kind of kinds) ledger[kind.name] = Object.fromEntries(await kind.observe(target))
      })
      progress = { ...NEW, seed, stubPort: stub.port, ledger }
      await writeProgress(folder, progress)
    }
    const ledger = structuredClone(progress.ledger)
    for (const end = progress.cycles + cycles; progress.cycles < end; ) {
      const cycle: number = progress.cycles + 1
      const choose = randomNumbers(progress.seed * 1_000_003 + cycle)
      const result = await runCycle({ dataDirectory, kinds, choose, cycle, ledger })
      report(cycle, result)
      if (result.faults.length > 0) return 1
      progress = {
        ...progress,
        cycles: cycle,
        acknowledged: progress.acknowledged + result.acknowledged,
        unanswered: progress.unanswered + result.unanswered,
        readyMsMax: Math.max(progress.readyMsMax, Math.round(result.readyMs)),
        ledger: structuredClone(ledger),
      }
      await writeProgress(folder, progress)
    }
    const { acknowledged, unanswered, readyMsMax } = progress
    console.log(
      `${progress.cycles} cycles in all: ${acknowledged} acknowledged changes, none lost; ${unanswered} overtaken by the kill, ` +
        `all or nothing of each; nothing torn; ready again in at most ${readyMsMax} ms`,
    )
    return 0
  } finally {
    stub.stop()
  }
}

function report(cycle: number, { acknowledged, refused, readyMs, faults }: CycleResult): void {
  const refusals = [...refused].map(([message, count]) => `  ${count} refused, ${message}`)
  const line = `cycle ${cycle}: ${acknowledged} acknowledged, ready again in ${Math.round(readyMs)} ms`
  console.log([line, ...refusals, ...faults.map((fault) => `  FAULT: ${fault}`)].join('\n'))
}

async function readProgress(folder: string): Promise<Progress | null> {
  const file = Bun.file(join(folder, 'progress.json'))
  // Only this program writes it.
  return (await file.exists()) ? ((await file.json()) as Progress) : null
}

async function writeProgress(folder: string, progress: Progress): Promise<void> {
  await Bun.write(join(folder, 'progress.json'), JSON.stringify(progress))
}

/** Returns the same numbers for the same seed (mulberry32). */
function randomNumbers(seed: number): Choose {
  let state = seed | 0
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}
