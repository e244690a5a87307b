import { whileRunning } from '../../scripts/server-process.ts'
import { type Measure, residentMb, type Scenario, startMeasured, withFolder } from '../scenario.ts'

/** After this pause, an idle server has finished its own work. */
const SETTLE_MS = 3000

export const startUp: Scenario = {
  name: 'start-up',
  title: 'Start of the process to the first answer, and memory at rest',
  run: () =>
    withFolder(async (dataDirectory) => {
      const first = await startMeasured({ dataDirectory })
      await first.stop()
      const second = await startMeasured({ dataDirectory })
      return whileRunning(second, async () => {
        await Bun.sleep(SETTLE_MS)
        const measures: readonly Measure[] = [
          { what: 'first start, empty folder', value: first.startMs, unit: 'ms' },
          { what: 'second start, same folder', value: second.startMs, unit: 'ms' },
          { what: 'resident memory at rest', value: residentMb(second.pid), unit: 'MB' },
        ]
        return measures
      })
    }),
}
