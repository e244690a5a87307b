/**
 * Statements that fill all memory, while other clients insert rows that the built-in model embeds.
 */
import { expect, test } from 'bun:test'
import { isEverything } from '../../support/sample.ts'
import { type ServerProcess, startServer, withFolder } from '../server/server-process.ts'

const RUN_MS = isEverything ? 20_000 : 4_000
const CLIENTS = 4
/** An insert that has begun is waited for, so a large one would take longer than the run. */
const ROWS = isEverything ? 200 : 50

const HOSTILE = [
  `WITH a AS (SELECT list(repeat('x',1000)) AS v FROM range(2000) t(i)) SELECT sum(len(list_concat(v,v))) FROM a, range(4000)`,
  `SELECT struct_pack(a:=v,b:=v,c:=v,d:=v) FROM (SELECT list(i) AS v FROM range(300000) t(i)), range(3000)`,
  `SELECT map_from_entries(list_zip(v, v)) FROM (SELECT list(i) AS v FROM range(200000) t(i)), range(2000)`,
] as const

interface Answer {
  readonly type?: string
  readonly error_code?: number
  readonly data?: unknown
}

async function sql(server: ServerProcess, query: string): Promise<Answer> {
  return (await (await server.send('POST', '/api/sql/query', { query })).json()) as Answer
}

/** An insert that takes long becomes a job, which is waited for. */
async function isStored(server: ServerProcess, response: Response): Promise<boolean> {
  if (response.status !== 202) return true
  const { id } = (await response.json()) as { readonly id: number }
  await (await server.send('GET', `/api/jobs/${id}/events`)).text()
  const job = await server.send('GET', `/api/jobs/${id}`)
  return ((await job.json()) as { readonly state: string }).state === 'done'
}

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux(
  'statements that fill the memory end neither the server nor the embedding of rows',
  async () => {
    await withFolder(async (folder) => {
      const server = await startServer({
        EIDER_DATA_DIR: folder,
        EIDER_MEMORY_LIMIT: '512MB',
        EIDER_QUERY_MS: '6000',
        // Beside other work, a statement may take long to fill the memory.
        EIDER_STUCK_MS: '600000',
        EIDER_LOG_LEVEL: 'error',
      })
      let hasEnded = false
      void server.exited.then(() => {
        hasEnded = true
      })
      expect(await sql(server, 'CREATE KNOWLEDGE_BASE kb')).toMatchObject({ type: 'ok' })
      const until = performance.now() + RUN_MS
      const isOver = () => hasEnded || performance.now() > until
      const refusals: string[] = []
      const stored: number[] = []
      const attack = async (first: number) => {
        for (let turn = first; !isOver(); turn += 1) {
          await sql(server, HOSTILE[turn % HOSTILE.length] ?? '').catch(() => {})
        }
      }
      const insert = async (client: number) => {
        // Every insert may be refused while memory is full; the first one after it is stored.
        for (let turn = 0; !isOver() || (stored.length === 0 && !hasEnded); turn += 1) {
          const batch = client * 1000 + turn
          const rows = Array.from({ length: ROWS }, (_, row) => ({
            content: `Row ${row} of batch ${batch}: ${'words about the harvest of tea '.repeat(16)}`,
            batch,
          }))
          const path = '/api/projects/mindsdb/knowledge_bases/kb'
          const response = await server
            .send('PUT', path, { knowledge_base: { rows } })
            .catch(() => null)
          if (response?.ok) {
            if (await isStored(server, response)) stored.push(batch)
          } else if (response !== null) {
            refusals.push(`${response.status} ${await response.text()}`)
          }
        }
      }
      const clients = Array.from({ length: CLIENTS }, (_, client) => client)
      await Promise.all(clients.flatMap((client) => [attack(client), insert(client)]))
      const log = hasEnded ? (await server.stderr).slice(-2000) : ''
      expect({ hasEnded, log }).toEqual({ hasEnded: false, log: '' })
      // Out of memory, out of time and no free slot are acceptable refusals.
      expect(refusals.filter((refusal) => !/^(429|503|504|507) /.test(refusal))).toEqual([])
      const { data } = await sql(
        server,
        `SELECT DISTINCT metadata->>'batch' FROM kb ORDER BY 1 LIMIT 1000`,
      )
      const found = new Set((data as unknown[][]).map(([batch]) => Number(batch)))
      expect(stored.filter((batch) => !found.has(batch))).toEqual([])
      server.kill('SIGKILL')
      await server.exited
    })
  },
  240_000,
)
