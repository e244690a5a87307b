/** Limits what a single function call in DuckDB may compute, and makes DuckDB free memory. */
import {
  BOOLEAN,
  DOUBLE,
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBScalarFunction,
  type DuckDBScalarFunctionInfo,
  type DuckDBVector,
  VARCHAR,
} from '@duckdb/node-api'
import { allRows } from '../../core/runtime/all-rows.ts'

/** `database-error.ts` turns it into a message for the client. */
export const TOO_COSTLY = 'Too much for one step: '

/** The steps allowed for one set of rows. They take a second or two and cannot be interrupted. */
const STEPS_MAX = 1e9
const ADVICE = `for rows that are computed together, the limit is ${STEPS_MAX.toPrecision(2)}; use smaller values, or fewer rows at once`

/** For `limit-steps.ts`: `eider_steps` per set of rows, `eider_steps_total` within a list. */
export function registerStepLimits(connection: DuckDBConnection): void {
  connection.registerScalarFunction(limitFunction('eider_steps', false))
  connection.registerScalarFunction(limitFunction('eider_steps_total', true))
}

/** Otherwise a thread frees memory only at its next allocation, and an idle server keeps it. */
export async function giveMemoryBack(connection: DuckDBConnection): Promise<void> {
  await connection.run('SET GLOBAL allocator_background_threads = true')
  await connection.run("SET GLOBAL allocator_flush_threshold = '16MB'")
}

/** The limit for blocks of a large write in DuckDB's cache, and how often to check it. */
const WRITTEN_BYTES_KEPT = 64 * 1024 ** 2
const LET_GO_MS = 200

/** DuckDB caches each written block; frees those while the work runs. */
export async function withoutCaching<T>(
  lease: <R>(use: (connection: DuckDBConnection) => Promise<R>) => Promise<R>,
  memoryLimit: string,
  work: () => Promise<T>,
): Promise<T> {
  const letGo = () => lease((connection) => trimCache(connection, memoryLimit, WRITTEN_BYTES_KEPT))
  const done = Promise.withResolvers<false>()
  const lettingGo = (async () => {
    while (await Promise.race([Bun.sleep(LET_GO_MS).then(() => true), done.promise])) await letGo()
    await letGo()
  })()
  try {
    return await work()
  } finally {
    done.resolve(false)
    await lettingGo
  }
}

/** Frees at least half of this at a time, to do it less often. */
const BLOCK_BYTES_KEPT = 128 * 1024 ** 2

/** The system caches them as well. Running statements keep theirs and have room. */
export async function trimCache(
  connection: DuckDBConnection,
  memoryLimit: string,
  keptBytes = BLOCK_BYTES_KEPT,
): Promise<void> {
  const sql = `SELECT sum(memory_usage_bytes),
    sum(memory_usage_bytes) FILTER (tag = 'BASE_TABLE') FROM duckdb_memory()`
  const [row = []] = await allRows(connection, sql)
  const [total = 0, blocks = 0] = row.map(Number)
  if (blocks <= 1.5 * keptBytes) return
  await lowerLimit(connection, total - blocks + keptBytes, memoryLimit)
}

/**
 * Lowers the memory limit and raises it again: the only way to free cached blocks in DuckDB 1.5.5.
 */
async function lowerLimit(
  connection: DuckDBConnection,
  keptBytes: number,
  memoryLimit: string,
): Promise<void> {
  try {
    await connection.run(
      `SET GLOBAL memory_limit = '${Math.ceil(keptBytes / 1e6)}MB'; SET GLOBAL memory_limit = '${memoryLimit}'`,
    )
  } catch {
    // DuckDB refuses a limit below what is in use. The limit then stays as it was.
  }
}

interface Total {
  sum: number
}

function limitFunction(name: string, isTotal: boolean): DuckDBScalarFunction {
  const mainFunction = (
    info: DuckDBScalarFunctionInfo,
    input: DuckDBDataChunk,
    output: DuckDBVector,
  ) => {
    const sum = sumOf(input)
    const state = isTotal ? info.getState() : undefined
    // `initFunction` below has set the state.
    const total = state as Total | undefined
    if (total !== undefined) total.sum += sum
    const found = total?.sum ?? sum
    if (found > STEPS_MAX) {
      const what = input.getColumnVector(1).getItem(0)
      info.setError(`${TOO_COSTLY}${what} takes ${found.toPrecision(2)} steps ${ADVICE}`)
      return
    }
    for (let row = 0; row < input.rowCount; row += 1) output.setItem(row, true)
    output.flush()
  }
  return DuckDBScalarFunction.create({
    name,
    mainFunction,
    parameterTypes: [DOUBLE, VARCHAR],
    returnType: BOOLEAN,
    volatile: isTotal,
    // DuckDB creates one state for each list that a lambda processes.
    ...(isTotal ? { initFunction: (info) => info.setState({ sum: 0 }) } : {}),
  })
}

function sumOf(input: DuckDBDataChunk): number {
  const column = input.getColumnVector(0)
  let sum = 0
  for (let row = 0; row < input.rowCount; row += 1) sum += Number(column.getItem(row) ?? 0)
  return sum
}
