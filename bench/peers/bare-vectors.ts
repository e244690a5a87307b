/**
 * The minimal server for vector searches over HTTP: Bun's server and PostgreSQL's client, with
 * `{"query", "keep", "setting"}` as input and IDs as output. Its arguments are the folder of
 * PostgreSQL's socket, its user and the number of connections. It prints its address.
 */
import { Pool, type PoolClient } from 'pg'
import { BUCKETS, K } from './vector-set.ts'

interface Asked {
  readonly query: readonly number[]
  readonly keep: number
  /** The value of `ef_search`. */
  readonly setting: number
}

const [host = '', user = '', connections = '1'] = process.argv.slice(2)
const pool = new Pool({ host, user, database: 'postgres', max: Number(connections) })
const settings = new WeakMap<PoolClient, number>()

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  development: false,
  async fetch(request) {
    // The benchmark is the only client, so the type is right.
    const asked = (await request.json()) as Asked
    const client = await pool.connect()
    try {
      return Response.json({ data: await nearest(client, asked) })
    } finally {
      client.release()
    }
  },
})
console.log(server.url.origin)

async function nearest(client: PoolClient, { query, keep, setting }: Asked) {
  if (settings.get(client) !== setting) {
    await client.query("LOAD 'vector'")
    await client.query('SET hnsw.iterative_scan = strict_order')
    await client.query(`SET hnsw.ef_search = ${Number(setting)}`)
    settings.set(client, setting)
  }
  const condition = keep === BUCKETS ? '' : `WHERE bucket < ${Number(keep)}`
  const { rows } = await client.query({
    // Prepared once for each connection.
    name: `nearest ${keep}`,
    text: `SELECT id FROM vectors ${condition} ORDER BY vector <#> $1::vector LIMIT ${K}`,
    values: [JSON.stringify(query)],
    rowMode: 'array',
  })
  return rows
}
