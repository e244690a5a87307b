import { expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { type ServerProcess, startServer, startSupervised, withFolder } from './server-process.ts'

const CLIENTS = 32

async function sql(server: ServerProcess, query: string) {
  const answer = await server.send('POST', '/api/sql/query', { query })
  return (await answer.json()) as { readonly type: string; readonly data: unknown }
}

interface Status {
  readonly statements: { readonly parked: number; readonly abandoned: readonly unknown[] }
  readonly memory: { readonly data: number; readonly limit: number }
  readonly restarts: { readonly count: number; readonly last: { readonly reason: string } | null }
}

async function statusOf(server: ServerProcess): Promise<Status> {
  return (await (await server.send('GET', '/api/status')).json()) as Status
}

/** A client that sends a query and never reads the answer. */
function clientThatDoesNotRead(url: string, query: string): Socket {
  const { hostname, port } = new URL(url)
  const body = JSON.stringify({ query })
  const socket = connect(Number(port), hostname)
  socket.pause()
  socket.on('error', () => {})
  socket.write(
    `POST /api/sql/query HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  return socket
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await Bun.sleep(20)
}

test('clients that do not read block no one, and leave nothing behind', async () => {
  await withFolder(async (folder) => {
    const server = await startServer({
      EIDER_DATA_DIR: folder,
      EIDER_LOG_LEVEL: 'error',
      EIDER_MEMORY_LIMIT: '1GB',
    })
    await sql(server, 'CREATE TABLE a AS SELECT i, i % 1000 AS k FROM range(200000) t(i)')
    await sql(server, "CREATE TABLE b AS SELECT k, repeat('x', 300) p FROM range(1000) t(k)")
    const silent = Array.from({ length: CLIENTS }, () => {
      return clientThatDoesNotRead(server.url, 'SELECT a.i, b.p FROM a JOIN b USING (k)')
    })
    await until(async () => (await statusOf(server)).statements.parked === CLIENTS)
    for (let round = 0; round < 20; round += 1) {
      expect((await sql(server, 'SELECT 1')).data).toEqual([[1]])
    }
    const { memory, statements } = await statusOf(server)
    if (process.platform === 'linux') expect(memory.data).toBeLessThan(memory.limit)
    expect(statements).toEqual({ running: 0, waiting: 0, parked: CLIENTS, abandoned: [] } as never)
    for (const socket of silent) socket.destroy()
    await until(async () => (await statusOf(server)).statements.parked === 0)
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
  })
}, 180_000)

test('clients that do not read a large join take no memory from small statements', async () => {
  await withFolder(async (folder) => {
    const server = await startServer({
      EIDER_DATA_DIR: folder,
      EIDER_LOG_LEVEL: 'silent',
      EIDER_MEMORY_LIMIT: '512MB',
    })
    await sql(server, 'CREATE TABLE a AS SELECT i, i % 1000 AS k FROM range(3000000) t(i)')
    await sql(server, "CREATE TABLE b AS SELECT j, repeat('x', 300) AS p FROM range(300000) t(j)")
    const silent = Array.from({ length: 40 }, () => {
      return clientThatDoesNotRead(server.url, 'SELECT a.i, b.p FROM a JOIN b ON a.i = b.j')
    })
    await until(async () => (await statusOf(server)).statements.parked > 0)
    for (let k = 0; k < 24; k += 1) {
      const { type, data } = await sql(server, `SELECT count(*) FROM a WHERE k = ${k}`)
      expect([type, data]).toEqual(['table', [[3000]]])
    }
    for (const socket of silent) socket.destroy()
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
  })
}, 180_000)

/**
 * DuckDB does not check for an interrupt before all of these lists are sorted. Each is as long as
 * the guard allows.
 */
const STUBBORN = `SELECT ${Array.from({ length: 12 }, (_, index) => {
  return `len(list_sort(range(${1_900_000 + index})))`
}).join(' + ')}`

test('a statement that DuckDB does not stop in time has the server started again', async () => {
  await withFolder(async (folder) => {
    const server = await startSupervised({
      EIDER_DATA_DIR: folder,
      EIDER_QUERY_MS: '50',
      EIDER_STUCK_MS: '100',
    })
    expect(await sql(server, STUBBORN)).toMatchObject({ type: 'error', error_code: 5001 })
    const restarts = async () => (await statusOf(server).catch(() => null))?.restarts
    await until(async () => {
      if (((await restarts())?.count ?? 0) > 0) return true
      // On a busy machine, the statement's time is over before DuckDB starts.
      await sql(server, STUBBORN).catch(() => null)
      return false
    })
    expect((await restarts())?.last?.reason).toBe('planned')
    expect(server.output()).toContain('DuckDB cannot stop a statement')
    // The machine may still be busy.
    await until(async () => (await sql(server, 'SELECT 1')).type !== 'error')
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
  })
}, 180_000)
