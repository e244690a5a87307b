/**
 * `bun bench/large-arguments.ts` runs every function on values of 1 and 10 MB in 10,000 rows, at EIDER_MEMORY_LIMIT=512MB
 * and EIDER_QUERY_MS=6000. It prints how each statement ended, then the peak of memory and what another client experienced.
 */
import { largeStatements, runLarge } from '../tests/slow/sql/large-arguments.ts'

const result = await runLarge(await largeStatements(), {
  queryMs: 6000,
  onEnd: (line) => process.stdout.write(`${line}\n`),
})
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
