/** If DuckDB does not stop a statement, the server is replaced while clients read and write. */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ServerProcess, startSupervised, withFolder } from './server-process.ts'

/** DuckDB does not check for an interrupt before all of these lists are sorted. Each is as long as the guard allows. */
const stubborn = (first: number) => {
  const lists = Array.from({ length: 14 }, (_, index) => `len(list_sort(range(${first + index})))`)
  return `SELECT ${lists.join(' + ')}`
}

/** The statement's time limit. */
const TIMEOUT = 5001

interface Answer {
  readonly type?: string
  readonly error_code?: number
  readonly data?: unknown
}

async function sql(server: ServerProcess, query: string): Promise<Answer & { status: number }> {
  const answer = await server.send('POST', '/api/sql/query', { query })
  return { status: answer.status, ...((await answer.json()) as Answer) }
}

/** Returns 0 without an answer. */
async function restartsOf(server: ServerProcess): Promise<number> {
  const status: unknown = await (await server.send('GET', '/api/status')).json()
  // On a busy machine, the next process may take longer than requests are held.
  return (status as { readonly restarts?: { readonly count: number } }).restarts?.count ?? 0
}

/** Returns the ID of the process that serves. */
async function serverPid(folder: string): Promise<number> {
  return JSON.parse(await readFile(join(folder, 'eider.lock'), 'utf8')).processId
}

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux(
  'reads wait for the next process, and no write that was acknowledged is lost',
  async () => {
    await withFolder(async (folder) => {
      const server = await startSupervised({
        EIDER_DATA_DIR: folder,
        EIDER_QUERY_MS: '1500',
        EIDER_STUCK_MS: '100',
        EIDER_LOG_LEVEL: 'error',
      })
      await sql(server, 'CREATE TABLE t AS SELECT 1 AS a')
      const firstPid = await serverPid(folder)
      let isOver = false
      const unread: unknown[] = []
      const readers = [1, 2, 3].map(async (reader) => {
        for (let n = 0; !isOver; n += 1) {
          const answer = await sql(server, `SELECT a + ${reader} * ${n} AS b FROM t`)
          const isLate = answer.status === 503 || answer.error_code === TIMEOUT
          if (answer.type !== 'table' && !isLate) unread.push(answer)
        }
      })
      const written: string[] = []
      const unwritten: Awaited<ReturnType<typeof sql>>[] = []
      const writers = [1, 2].map(async (writer) => {
        for (let n = 0; !isOver; n += 1) {
          const name = `w${writer}_${n}`
          // If a connection breaks, it is unknown whether the write happened.
          const answer = await sql(server, `CREATE TABLE ${name} AS SELECT ${n} AS n`).catch(
            () => null,
          )
          if (answer?.type === 'ok') written.push(name)
          else if (answer !== null) unwritten.push(answer)
        }
      })
      let first = 1_900_000
      while ((await restartsOf(server)) === 0) {
        // On a slow machine, its time may be over before DuckDB has started.
        await sql(server, stubborn(first)).catch(() => null)
        first -= 20
      }
      const before = written.length
      while (written.length < before + 5) await Bun.sleep(20)
      isOver = true
      await Promise.all([...readers, ...writers])
      expect(unread).toEqual([])
      // On a busy machine, a write may reach its time limit.
      const failed = unwritten.filter(({ status, error_code: code }) => {
        return status !== 503 && code !== TIMEOUT
      })
      expect(failed).toEqual([])
      for (const name of written) {
        const { data } = await sql(server, `SELECT n FROM ${name}`)
        expect([name, data]).toEqual([name, [[Number(name.split('_')[1])]]])
      }
      expect(await sql(server, stubborn(1_500_000))).toMatchObject({ error_code: 4009 })
      expect(await serverPid(folder)).not.toBe(firstPid)
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      expect(() => process.kill(firstPid, 0)).toThrow()
    })
  },
  180_000,
)
