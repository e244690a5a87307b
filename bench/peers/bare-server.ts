/** The minimal server for SQL over HTTP: Bun's server and DuckDB's library, running each statement at once. Prints its address. */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'

const instance = await DuckDBInstance.create(':memory:')
const idle: DuckDBConnection[] = []

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  development: false,
  async fetch(request) {
    const { query } = (await request.json()) as { readonly query: string }
    const connection = idle.pop() ?? (await instance.connect())
    try {
      const reader = await connection.runAndReadAll(query)
      const [column_names, data] = [reader.columnNames(), reader.getRowsJson()]
      return Response.json({ column_names, data, type: 'table' })
    } finally {
      idle.push(connection)
    }
  },
})
console.log(server.url.origin)
