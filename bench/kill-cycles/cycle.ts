/** Runs one cycle: writers of every kind, kill -9 at a random moment, a restart, and a full check. */
import { eiderClient } from '../../scripts/eider-client.ts'
import { type ServerProcess, startServer, whileRunning } from '../../scripts/server-process.ts'
import { searchFaults, tableFaults } from './integrity.ts'
import { ABSENT, type Change, type Choose, type Kind, type Target } from './kind.ts'

const WRITING_MS_MAX = 8_000
/** Backups to keep; one night makes thousands of them. */
const ENVIRONMENT = { EIDER_BACKUP_KEEP: '2' }

/** The state of each key that the writers know, by kind and key. */
export type Ledger = Record<string, Record<string, string>>

export interface CycleResult {
  readonly acknowledged: number
  /** How many changes the kill interrupted. */
  readonly unanswered: number
  /** How often the server refused changes, by message. They changed nothing. */
  readonly refused: ReadonlyMap<string, number>
  readonly readyMs: number
  readonly faults: readonly string[]
}

export interface CycleOptions {
  readonly dataDirectory: string
  readonly kinds: readonly Kind[]
  readonly choose: Choose
  readonly cycle: number
  /** What was found after the last cycle; the writers then add what the server acknowledged. */
  readonly ledger: Ledger
}

export async function runCycle(options: CycleOptions): Promise<CycleResult> {
  const { dataDirectory, kinds, choose, ledger } = options
  const server = await startServer({ dataDirectory, environment: ENVIRONMENT })
  const target = targetOf(server, dataDirectory)
  const writers = kinds.map((kind) => write(kind, target, options))
  await Bun.sleep(choose(WRITING_MS_MAX))
  await kill(server)
  const written = await Promise.all(writers)
  // Occasionally the next start is killed as well, while it reads the log.
  if (choose(4) === 0) await killedStart(dataDirectory, choose)
  const again = await startServer({ dataDirectory, environment: ENVIRONMENT })
  const faults: string[] = []
  await whileRunning(again, async () => {
    const reached = targetOf(again, dataDirectory)
    for (const [index, kind] of kinds.entries()) {
      const seen = await kind.observe(reached)
      const states = ledger[kind.name] ?? {}
      faults.push(...faultsOf(kind.name, states, seen, written[index]?.pending ?? null))
      ledger[kind.name] = Object.fromEntries(seen)
    }
    faults.push(...(await searchFaults(reached.client)))
  })
  faults.push(...(await tableFaults(dataDirectory)))
  const sum = (one: (of: Written) => number) => written.reduce((total, of) => total + one(of), 0)
  const refused = new Map<string, number>()
  for (const { refusals } of written) {
    for (const one of refusals) refused.set(one, (refused.get(one) ?? 0) + 1)
  }
  return {
    acknowledged: sum(({ acknowledged }) => acknowledged),
    unanswered: sum(({ pending }) => (pending === null ? 0 : 1)),
    refused,
    readyMs: again.startMs,
    faults,
  }
}

export function targetOf({ baseUrl }: ServerProcess, dataDirectory: string): Target {
  return { client: eiderClient(baseUrl), baseUrl, dataDirectory }
}

interface Written {
  readonly acknowledged: number
  readonly refusals: readonly string[]
  /** A change that was sent but never answered. */
  readonly pending: Change | null
}

/** Makes changes until the server is gone. The ledger receives what was acknowledged. */
async function write(
  kind: Kind,
  target: Target,
  { choose, cycle, ledger }: CycleOptions,
): Promise<Written> {
  const states = ledger[kind.name] ?? {}
  ledger[kind.name] = states
  const refusals: string[] = []
  let acknowledged = 0
  for (let step = 0; ; step += 1) {
    const change = kind.change(choose, cycle * 100_000 + step, (key) => states[key] ?? ABSENT)
    try {
      await change.run(target)
      states[change.key] = change.state
      acknowledged += 1
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (!isRefusal(message)) return { acknowledged, refusals, pending: change }
      refusals.push(`${kind.name}: ${message.replaceAll(/\d+/g, 'N').slice(0, 160)}`)
    }
  }
}

/** Whether the server has answered without changing anything. */
function isRefusal(message: string): boolean {
  return message.startsWith('SQL: ') || / answered \d+/.test(message)
}

function faultsOf(
  kind: string,
  states: Readonly<Record<string, string>>,
  seen: ReadonlyMap<string, string>,
  pending: Change | null,
): readonly string[] {
  const keys = new Set([...Object.keys(states), ...seen.keys()])
  return [...keys].flatMap((key) => {
    const found = seen.get(key) ?? ABSENT
    const allowed = [states[key] ?? ABSENT, ...(pending?.key === key ? [pending.state] : [])]
    return allowed.includes(found)
      ? []
      : [`${kind}, ${key}: ${found} instead of ${allowed.join(' or ')}`]
  })
}

async function kill(server: ServerProcess): Promise<void> {
  process.kill(server.pid, 'SIGKILL')
  // It did not stop cleanly, which is intended here.
  await server.stop().catch(() => undefined)
}

const START_MS_MAX = 500

async function killedStart(dataDirectory: string, choose: Choose): Promise<void> {
  const main = new URL('../../src/main.ts', import.meta.url).pathname
  const child = Bun.spawn([process.execPath, main, '--no-supervisor'], {
    env: {
      ...process.env,
      EIDER_DATA_DIR: dataDirectory,
      EIDER_PORT: '0',
      UV_THREADPOOL_SIZE: '16',
    },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  await Bun.sleep(choose(START_MS_MAX))
  child.kill('SIGKILL')
  await child.exited
}
