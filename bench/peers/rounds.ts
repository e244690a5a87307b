/**
 * Queries all peers in turn, round after round, so that a slow moment of the machine affects all.
 */
import { percentile } from '../load.ts'
import type { OpenPeer, Peer, SearchAnswers, Setting } from './peer.ts'
import type { NearestTable } from './true-nearest.ts'
import { BUCKETS, K, KEEPS, type Keep, type VectorSet } from './vector-set.ts'

export interface LoadedPeer {
  readonly peer: Peer
  readonly open: OpenPeer
}

export interface Task {
  readonly loaded: LoadedPeer
  readonly setting: Setting
  readonly keep: Keep
  readonly clients: number
}

export interface TaskResult extends Task {
  readonly searches: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly perSecond: number
  readonly recall: number
  /** The smallest number of rows that one search found, which should be K. */
  readonly rowsMin: number
}

const CROWD = 8
/** The number of searches of one task in one round. */
const SEARCHES = { alone: 60, crowd: 160 }
const DURATION_MS_MAX = 2000

export function tasksOf(peers: readonly LoadedPeer[]): readonly Task[] {
  return peers.flatMap((loaded) => {
    return loaded.peer.settings.flatMap((setting) => {
      const keeps = KEEPS.filter((keep) => keep === BUCKETS || loaded.peer.hasFilter)
      const alone = keeps.map((keep) => ({ loaded, setting, keep, clients: 1 }))
      return [...alone, { loaded, setting, keep: BUCKETS, clients: CROWD } as const]
    })
  })
}

/** Runs one round that does not count, then `rounds`. @param told called after each round */
export async function runRounds(
  tasks: readonly Task[],
  { set, rounds }: { readonly set: VectorSet; readonly rounds: number },
  told: (round: number, soFar: readonly TaskResult[]) => void | Promise<void>,
): Promise<readonly TaskResult[]> {
  const answers = tasks.map((): { from: number; answers: SearchAnswers }[] => [])
  const results = () => tasks.map((task, index) => resultOf(task, answers[index] ?? [], set))
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, task] of tasks.entries()) {
      const count = task.clients === 1 ? SEARCHES.alone : SEARCHES.crowd
      const from = round * count
      const { clients, keep } = task
      const request = { clients, keep, from, count, durationMs: DURATION_MS_MAX }
      const given = await task.loaded.open.search({ ...request, setting: task.setting.value })
      if (round > 0) answers[index]?.push({ from, answers: given })
    }
    if (round > 0) await told(round, results())
  }
  return results()
}

function resultOf(
  task: Task,
  parts: readonly { readonly from: number; readonly answers: SearchAnswers }[],
  { truth }: VectorSet,
): TaskResult {
  const latencies = parts.flatMap(({ answers }) => answers.latenciesMs).sort((a, b) => a - b)
  const elapsedMs = parts.reduce((sum, { answers }) => sum + answers.elapsedMs, 0)
  const found = parts.flatMap(({ from, answers }) => {
    return answers.found.flatMap((rows, at) => (rows === null ? [] : [{ query: from + at, rows }]))
  })
  const recalls = found.map(({ query, rows }) => recallOf(rows, truth[task.keep], query))
  return {
    ...task,
    searches: latencies.length,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    perSecond: latencies.length / (elapsedMs / 1000),
    recall: recalls.reduce((sum, recall) => sum + recall, 0) / recalls.length,
    rowsMin: Math.min(...found.map(({ rows }) => rows.length)),
  }
}

/** Returns the share of the true nearest that were found. */
function recallOf(rows: readonly number[], truth: NearestTable, query: number): number {
  const nearest = truth[query % truth.length] ?? []
  return nearest.filter((row) => rows.includes(row)).length / Math.min(K, nearest.length)
}
