/**
 * Failing writes: every acknowledged write survives a restart, nothing is half-written, and the
 * server continues or ends with its message. For a longer run: `EIDER_FAULTS=300 bun test
 * ./tests/slow/store/faults.test.ts --timeout=3600000`.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chunkTables } from '../../../src/core/domain/document.ts'
import { openStore } from '../../../src/store/store.ts'
import { isEverything } from '../../support/sample.ts'
import { current, rowsOf } from '../../support/store-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'eider-faults-'))
const library = join(folder, 'failing-writes.so')
const source = join(import.meta.dir, 'failing-writes.c')
const program = join(import.meta.dir, 'fault-program.ts')

const isPossible =
  process.platform === 'linux' &&
  spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']).status === 0
if (!isPossible) process.stderr.write('Not run: failing writes need Linux and a C compiler (cc)\n')

interface Fault {
  readonly kind: 'ENOSPC' | 'EIO' | 'SHORT'
  readonly at: number
  /** Whether every later call fails, too. */
  readonly stays: boolean
}

const KINDS = [
  { kind: 'ENOSPC', stays: true },
  { kind: 'EIO', stays: false },
  { kind: 'ENOSPC', stays: false },
  { kind: 'SHORT', stays: true },
] as const

/** The number of calls that write in a run without a fault. */
let callCount = 0
/** How many of these calls a start with an empty folder makes. */
const START_CALLS = 12

function run(directory: string, environment: Readonly<Record<string, string>>) {
  const ran = spawnSync(process.execPath, [program, directory], {
    env: { ...process.env, FAULT_FOLDER: directory, LD_PRELOAD: library, ...environment },
    encoding: 'utf8',
    timeout: 60_000,
  })
  return { ...ran, lines: ran.stdout.split('\n') }
}

beforeAll(() => {
  if (!isPossible) return
  const countFile = join(folder, 'count')
  const { lines, status, stderr } = run(join(folder, 'whole'), { FAULT_COUNT_FILE: countFile })
  if (status !== 0 || !lines.includes('done')) throw new Error(`without a fault: ${stderr}`)
  callCount = Number(readFileSync(countFile, 'utf8'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Returns faults spread over the whole run, with each kind at different positions. */
function sampledFaults(count: number): readonly Fault[] {
  const step = (callCount - START_CALLS) / count
  return Array.from({ length: count }, (_, index) => {
    const { kind, stays } = KINDS[index % KINDS.length] ?? KINDS[0]
    return { kind, stays, at: START_CALLS + Math.floor((index + 0.5) * step) }
  })
}

test.skipIf(!isPossible)(
  'what was acknowledged survives every failing write',
  async () => {
    expect(callCount).toBeGreaterThan(50)
    const endings = new Set<string>()
    for (const fault of sampledFaults(Number(process.env.EIDER_FAULTS ?? (isEverything ? 8 : 4)))) {
      const name = `${fault.kind} ${fault.stays ? 'from' : 'at'} ${fault.at}`
      const directory = join(folder, name.replaceAll(' ', '-'))
      const { lines, status, signal, stderr } = run(directory, {
        FAULT_AT: String(fault.at),
        FAULT_KIND: fault.kind,
        FAULT_STAYS: fault.stays ? '1' : '0',
      })
      expect({ name, problems: problemsOf(lines) }).toEqual({ name, problems: [] })
      const last = lines.findLast((line) => line !== '') ?? ''
      const ending =
        /^(done|fatal|refused)/.exec(last)?.[0] ?? `${status} ${signal} ${stderr.slice(0, 500)}`
      expect({ name, ending }).toEqual({
        name,
        ending: expect.stringMatching(/^(done|fatal|refused)$/),
      })
      endings.add(ending)
      await checkStored(directory, name, lines)
      rmSync(directory, { recursive: true, force: true })
    }
    expect(endings.has('done')).toBe(true)
  },
  3_600_000,
)

/** Returns responses other than success, 507 and 500, and failures without a message. */
function problemsOf(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => {
    return (
      line.startsWith('answer') &&
      !/^answer (20\d {2}|507 storage_full|500 |200 500[0-6])/.test(line)
    )
  })
}

/** Runs in a process without faults. */
async function checkStored(directory: string, name: string, lines: readonly string[]) {
  const has = (line: string) => lines.includes(line)
  const stored = lines.flatMap((line) => /^stored (\d+)$/.exec(line)?.[1] ?? []).map(Number)
  const acknowledged = Math.max(0, ...stored)
  const store = await openStore({ directory })
  const snapshot = store.catalog.snapshot()
  if (snapshot.knowledgeBases.length > 0 && acknowledged > 0) {
    const { chunks, vectors, termCounts } = chunkTables(current(store))
    const versions = await rowsOf(
      store,
      `SELECT document_id, min(metadata->>'version')::INT AS first, max(metadata->>'version')::INT AS last
        FROM ${chunks} GROUP BY ALL ORDER BY ALL`,
    )
    expect({ name, documents: versions.length }).toEqual({ name, documents: 4 })
    for (const [, first, last] of versions) {
      expect({ name, isWhole: first === last, isKept: Number(last) >= acknowledged }).toEqual({
        name,
        isWhole: true,
        isKept: true,
      })
    }
    const lonely = `SELECT count(*) FROM ${chunks} FULL JOIN ${vectors} v USING (chunk_key)
      FULL JOIN ${termCounts} t USING (chunk_key) WHERE v.vector IS NULL OR t.term_count IS NULL`
    expect({ name, lonely: await rowsOf(store, lonely) }).toEqual({ name, lonely: [[0]] })
  }
  if (has('agent')) expect(snapshot.agents.map((agent) => agent.name)).toEqual(['writer'])
  if (has('file')) expect(snapshot.files[0]?.rowCount).toBe(5000)
  if (has('table')) {
    const table = `project_1.table_${snapshot.tables[0]?.id}`
    expect(await rowsOf(store, `SELECT count(*), sum(a) FROM ${table}`)).toEqual([
      [200_000, 19_999_900_000],
    ])
  }
  await store.upkeep.vacuum(null, new AbortController().signal)
  await store.close()
}

test.skipIf(!isPossible)(
  'a first start on a full disk leaves nothing that stops the next one',
  async () => {
    for (const at of [1, 2, 3, 4]) {
      const directory = join(folder, `first-${at}`)
      const ran = run(directory, { FAULT_AT: String(at), FAULT_KIND: 'ENOSPC', FAULT_STAYS: '1' })
      expect(ran.lines.includes('stored 1')).toBe(false)
      const store = await openStore({ directory })
      expect(store.catalog.snapshot().projects.length).toBe(1)
      await store.close()
      expect(existsSync(join(directory, 'eider-data.duckdb'))).toBe(true)
    }
  },
  120_000,
)
