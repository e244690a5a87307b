/**
 * `npm run bench:peers [-- --rows 100000] [--only eider,pgvector-hnsw] [--rounds 5] [--folder …]`
 * compares Eider with other servers and libraries that hold the same vectors and are queried in
 * turn. It prints a Markdown table; `--plot file.svg` and `--json file.json` write the plot and the
 * numbers, with the results so far after each round.
 */
import { mkdir, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Peer } from './peer.ts'
import { allPeers } from './peer-list.ts'
import { folderMb, heldMb } from './process-memory.ts'
import { pythonHome } from './python-home.ts'
import { type PlotPoint, recallPlot } from './recall-plot.ts'
import { type Loading, markdownTable, type PeerRow, peerRows } from './report.ts'
import { type LoadedPeer, runRounds, tasksOf } from './rounds.ts'
import { DIMENSIONS, type VectorSet, vectorSet } from './vector-set.ts'

process.exitCode = await main().catch((error: unknown) => {
  console.error(messageOf(error))
  return 1
})

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '5' },
      only: { type: 'string' },
      folder: { type: 'string', default: join(tmpdir(), 'eider-peers') },
      plot: { type: 'string' },
      json: { type: 'string' },
    },
  })
  const { folder } = values
  const [rowCount, rounds] = [Number(values.rows), Number(values.rounds)]
  if (!Number.isInteger(rowCount) || rowCount < 10_000 || !Number.isInteger(rounds) || rounds < 1) {
    console.error('--rows must be a number of at least 10000, --rounds one of at least 1')
    return 2
  }
  const { python, failures } = await pythonHome(folder)
  for (const failure of failures) console.log(`not installed: ${failure}`)
  const all = allPeers(python)
  const names = values.only?.split(',') ?? all.map(({ name }) => name)
  const unknown = names.filter((name) => !all.some((peer) => peer.name === name))
  if (unknown.length > 0) {
    const known = all.map(({ name }) => name).join(', ')
    console.error(`No peer ${unknown.join(', ')}; there are ${known}`)
    return 2
  }
  const chosen = all.filter(({ name }) => names.includes(name))
  const write = async (rows: readonly PeerRow[]) => {
    if (values.json !== undefined) await Bun.write(values.json, JSON.stringify(rows, null, 1))
    if (values.plot !== undefined) await Bun.write(values.plot, plotOf(rows, rowCount))
  }
  const rows = await compared(chosen, { folder, rowCount, rounds, write })
  console.log(`\n${markdownTable(rows)}`)
  return 0
}

interface Comparison {
  readonly folder: string
  readonly rowCount: number
  readonly rounds: number
  readonly write: (rows: readonly PeerRow[]) => Promise<void>
}

async function compared(
  peers: readonly Peer[],
  { folder, rowCount, rounds, write }: Comparison,
): Promise<readonly PeerRow[]> {
  console.log(`${rowCount} vectors of ${DIMENSIONS} numbers, ${availableParallelism()} cores`)
  const set = await vectorSet(folder, rowCount)
  const loadings: Loading[] = []
  const loaded: LoadedPeer[] = []
  const stored = join(folder, 'stored')
  await rm(stored, { recursive: true, force: true })
  try {
    for (const peer of peers) {
      const own = join(stored, peer.name)
      await mkdir(own, { recursive: true })
      await addLoaded(peer, { set, folder: own }, { loaded, loadings })
    }
    const results = await runRounds(tasksOf(loaded), { set, rounds }, async (round, soFar) => {
      console.log(`round ${round} of ${rounds}`)
      await write(peerRows(soFar, loadings))
    })
    return peerRows(results, loadings)
  } finally {
    for (const { peer, open } of loaded) await open.close().catch(tellOf(peer))
    await rm(stored, { recursive: true, force: true })
  }
}

/** Leaves out a peer that cannot run here, and prints why. */
async function addLoaded(
  peer: Peer,
  places: { readonly set: VectorSet; readonly folder: string },
  into: { readonly loaded: LoadedPeer[]; readonly loadings: Loading[] },
): Promise<void> {
  const open = await peer.open(places).catch(tellOf(peer))
  if (open === undefined) return
  try {
    const idleMb = await heldMb(open.pid)
    const startedAt = performance.now()
    await open.load()
    const loadSeconds = (performance.now() - startedAt) / 1000
    const memoryMb = (await heldMb(open.pid)) - idleMb
    const diskMb = await folderMb(places.folder)
    into.loadings.push({ name: peer.name, versions: open.versions, loadSeconds, memoryMb, diskMb })
    into.loaded.push({ peer, open })
    console.log(`${peer.name}: ${open.versions}, loaded in ${loadSeconds.toFixed(1)} s`)
  } catch (error) {
    tellOf(peer)(error)
    await open.close().catch(tellOf(peer))
  }
}

function tellOf({ name }: Peer): (error: unknown) => undefined {
  return (error) => {
    console.log(`left out: ${name}: ${messageOf(error)}`)
    return undefined
  }
}

function plotOf(rows: readonly PeerRow[], rowCount: number): string {
  const count = rowCount.toLocaleString('en')
  const points = rows.map((row): PlotPoint => {
    const isOwn = row.name.startsWith('eider')
    const group = isOwn ? 'own' : /exact|flat/.test(row.name + row.label) ? 'exact' : 'approximate'
    return { label: row.label, p50Ms: row.p50Ms, recall: row.recall, group }
  })
  return recallPlot(points, `The nearest 10 of ${count} vectors of ${DIMENSIONS} numbers`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
