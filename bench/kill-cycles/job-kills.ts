/**
 * `bun bench/kill-cycles/job-kills.ts --kills 100 [--source files]` sends kill -9 at random moments of background inserts. After each kill,
 * the disk must match what the job reports. In the end, no document may be duplicated, missing or incomplete.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { type ServerProcess, startServer } from '../../scripts/server-process.ts'
import { tableFaults } from './integrity.ts'
import { startStub } from './stub.ts'

/** The number of rows in each job. Each row becomes two chunks. */
const ROWS = 1_500
const RUNNING_MS_MAX = 3_000
const KBS = '/api/projects/mindsdb/knowledge_bases'

const SOURCES = ['rows', 'query', 'files', 'several'] as const

type Source = (typeof SOURCES)[number]

export interface JobKillsResult {
  readonly kills: number
  readonly jobs: number
  readonly faults: readonly string[]
}

/** @param choose returns a whole number from 0 to below its argument */
export async function runJobKills(
  dataDirectory: string,
  killsWanted: number,
  choose: (below: number) => number,
  sources: readonly Source[] = SOURCES,
): Promise<JobKillsResult> {
  const stub = startStub(0)
  const faults: string[] = []
  let kills = 0
  let jobs = 0
  let server = await startServer({ dataDirectory })
  try {
    while (kills < killsWanted && faults.length === 0) {
      const source = sources[jobs % sources.length] ?? 'rows'
      const name = `kb${jobs}`
      const id = await startJob(server, { name, source, model: stub.models[0] })
      jobs += 1
      let job = await jobOf(server, id)
      while (job.state !== 'done') {
        if (job.state === 'failed') throw new Error(`job ${id} failed: ${job.error}`)
        if (kills < killsWanted) {
          await Bun.sleep(choose(RUNNING_MS_MAX))
          await killed(server)
          kills += 1
          faults.push(...(await countFaults(dataDirectory)))
          server = await startServer({ dataDirectory })
        } else await Bun.sleep(100)
        job = await jobOf(server, id)
      }
      faults.push(...(await endFaults(server, name, job)))
    }
  } finally {
    await server.stop().catch(() => undefined)
    stub.stop()
  }
  faults.push(...(await tableFaults(dataDirectory)))
  return { kills, jobs, faults }
}

const POLL_MS = 5

/** Resolves when the process has ended. */
async function killed({ pid }: ServerProcess): Promise<void> {
  process.kill(pid, 'SIGKILL')
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await Bun.sleep(POLL_MS)
  }
}

interface Job {
  readonly id: number
  readonly state: string
  readonly rows: number
  readonly documents: number
  readonly chunks: number
  readonly error: string | null
}

async function startJob(
  server: ServerProcess,
  {
    name,
    source,
    model,
  }: { readonly name: string; readonly source: Source; readonly model: unknown },
): Promise<number> {
  const preprocessing = { text_chunking_config: { chunk_size: 100, chunk_overlap: 0 } }
  const definition = { name, embedding_model: model, preprocessing }
  await send(server, 'POST', KBS, { knowledge_base: definition })
  const insert = async (what: Readonly<Record<string, unknown>>) => {
    const body = { knowledge_base: { ...what, background: true } }
    return ((await send(server, 'PUT', `${KBS}/${name}`, body)) as Job).id
  }
  const third = ROWS / 3
  switch (source) {
    case 'rows':
      return insert({ rows: rowsOf(0, ROWS) })
    case 'files':
      return insert({ files: [await upload(server, name, rowsOf(0, ROWS))] })
    case 'several': {
      const files = [await upload(server, name, rowsOf(third, 2 * third))]
      return insert({ rows: rowsOf(0, third), files, query: selectOf(2 * third, ROWS) })
    }
  }
  const query = `INSERT INTO ${name} ${selectOf(0, ROWS)} USING background = true`
  const { data } = (await send(server, 'POST', '/api/sql/query', { query })) as {
    readonly data: readonly (readonly unknown[])[]
  }
  return Number(data[0]?.[0])
}

function rowsOf(start: number, end: number) {
  return Array.from({ length: end - start }, (_, index) => {
    const id = start + index
    return { id: `${id}`, content: `${'green tea '.repeat(9)}\n\n${`leaf ${id} `.repeat(8)}` }
  })
}

/** Random order, so that rows stored before a kill may be anywhere. */
function selectOf(start: number, end: number): string {
  return `SELECT i::VARCHAR AS id,
      repeat('green tea ', 9) || chr(10) || chr(10) || repeat('leaf ' || i || ' ', 8) AS content
    FROM range(${start}, ${end}) AS t(i) ORDER BY random()`
}

/** @returns the name of its table */
async function upload(
  server: ServerProcess,
  name: string,
  rows: ReturnType<typeof rowsOf>,
): Promise<string> {
  const lines = rows.map(({ id, content }) => `${id},"${content}"`)
  const form = new FormData()
  form.set('file', new File([['id,content', ...lines].join('\n')], `${name}.csv`))
  const response = await fetch(`${server.baseUrl}/api/files/${name}`, { method: 'PUT', body: form })
  if (!response.ok) throw new Error(`PUT of a file: ${response.status} ${await response.text()}`)
  return name
}

async function jobOf(server: ServerProcess, id: number): Promise<Job> {
  return (await send(server, 'GET', `/api/jobs/${id}`)) as Job
}

async function send(server: ServerProcess, method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.baseUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok)
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

/** Compares what the jobs report with what is stored, while no server runs. */
async function countFaults(directory: string): Promise<readonly string[]> {
  const path = join(directory, 'eider-data.duckdb')
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  const rowsOf = async (sql: string) => (await connection.runAndReadAll(sql)).getRows()
  try {
    const jobs = await rowsOf(`SELECT j.knowledge_base, k.id, s.document_count, s.chunk_count
      FROM eider.jobs j JOIN eider.job_states s ON s.job_id = j.id
      JOIN eider.knowledge_bases k ON k.name = j.knowledge_base`)
    const faults: string[] = []
    for (const [name, id, documents, chunks] of jobs) {
      const [[table] = []] = await rowsOf(`SELECT schema_name || '.' || table_name
        FROM duckdb_tables() WHERE table_name = 'kb_${id}_chunks'`)
      const [stored = []] = await rowsOf(
        `SELECT count(DISTINCT document_id), count(*) FROM ${table}`,
      )
      if (`${stored}` === `${[documents, chunks]}`) continue
      faults.push(`${name}: the job says ${[documents, chunks]}, stored are ${stored}`)
    }
    return faults
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

async function endFaults(
  server: ServerProcess,
  name: string,
  job: Job,
): Promise<readonly string[]> {
  const query = `SELECT count(DISTINCT id), count(*), count(DISTINCT chunk_id) FROM ${name}`
  const { data } = (await send(server, 'POST', '/api/sql/query', { query })) as {
    readonly data: readonly (readonly number[])[]
  }
  const { rows, documents, chunks } = job
  const found = [...(data[0] ?? []), rows, documents, chunks]
  const wanted = [ROWS, 2 * ROWS, 2 * ROWS, ROWS, ROWS, 2 * ROWS]
  return `${found}` === `${wanted}` ? [] : [`${name}: found ${found}, expected ${wanted}`]
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { kills: { type: 'string', default: '100' }, source: { type: 'string' } },
  })
  const sources = SOURCES.filter((one) => values.source === undefined || one === values.source)
  const folder = await mkdtemp(join(tmpdir(), 'eider-job-kills-'))
  const choose = (below: number) => Math.floor(Math.random() * below)
  const result = await runJobKills(join(folder, 'data'), Number(values.kills), choose, sources)
  console.log(`${result.kills} kills, ${result.jobs} jobs, ${result.faults.length} faults`)
  for (const fault of result.faults) console.log(`FAULT: ${fault}`)
  await rm(folder, { recursive: true, force: true })
  process.exit(result.faults.length === 0 ? 0 : 1)
}
