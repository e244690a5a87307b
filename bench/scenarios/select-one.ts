import { rateMeasure, runLoad } from '../load.ts'
import { type Scenario, withServer } from '../scenario.ts'

const REQUESTS_MAX = 1_000_000

export const selectOne: Scenario = {
  name: 'select-one',
  title: 'Small SQL statements with 16 clients',
  run: (size) =>
    withServer({}, async ({ client }) => {
      const durationMs = size === 'quick' ? 1500 : 5000
      const load = { clients: 16, requestsMax: REQUESTS_MAX, durationMs }
      await runLoad({ ...load, durationMs: 500 }, () => client.sql('SELECT 1'))
      const same = await runLoad(load, () => client.sql('SELECT 1'))
      const distinct = await runLoad(load, (index) => client.sql(`SELECT ${index} AS value`))
      return [rateMeasure('the same text', same), rateMeasure('each text new', distinct)]
    }),
}
