import { httpMeasure } from '../http-load.ts'
import { type Scenario, withServer } from '../scenario.ts'

/** More than are sent in the time. */
const DISTINCT = 100_000

export const selectOne: Scenario = {
  name: 'select-one',
  title: 'Small SQL statements with 16 clients',
  run: (size) =>
    withServer({}, async ({ client, server }) => {
      const load = {
        baseUrl: server.baseUrl,
        pid: server.pid,
        method: 'POST',
        path: '/sql/query',
        clients: 16,
        seconds: size === 'quick' ? 1 : 5,
        check: async (body: string) => {
          const { rows } = await client.sql(JSON.parse(body).query)
          if (rows.length !== 1) throw new Error(`${body} found ${rows.length} rows`)
        },
      } as const
      const same = [JSON.stringify({ query: 'SELECT 1' })]
      await httpMeasure('warm-up', { ...load, bodies: same, seconds: 1 })
      const distinct = Array.from({ length: DISTINCT }, (_, index) => {
        return JSON.stringify({ query: `SELECT ${index} AS value` })
      })
      return [
        await httpMeasure('SELECT 1, the same text', { ...load, bodies: same }),
        await httpMeasure('SELECT 1, each text new', { ...load, bodies: distinct }),
      ]
    }),
}
