/** Limits on single steps of DuckDB, and what makes it release memory. */
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

/** DuckDB's message for a step that is too large, which `database-error.ts` makes one for the caller of. */
export const TOO_COSTLY = 'Too much for one step: '

/** Steps that functions may take for one set of rows: a second or two. No interrupt reaches them. */
const STEPS_MAX = 1e9
const ADVICE = `for rows that are computed together, the limit is ${STEPS_MAX.toPrecision(2)}; use smaller values, or fewer rows at once`

/**
 * `eider_steps(steps, what)` fails where the rows of one set take too many together; `eider_steps_total` adds up within one
 * list. `limit-steps.ts` puts them into statements.
 */
export function registerStepLimits(connection: DuckDBConnection): void {
  connection.registerScalarFunction(limitFunction('eider_steps', false))
  connection.registerScalarFunction(limitFunction('eider_steps_total', true))
}

/**
 * Free memory returns to the system within a second or two. Otherwise that waits for the next allocation of the thread that
 * freed it: gigabytes of one large statement may stay with an idle server.
 */
export async function giveMemoryBack(connection: DuckDBConnection): Promise<void> {
  await connection.run('SET GLOBAL allocator_background_threads = true')
  await connection.run("SET GLOBAL allocator_flush_threshold = '16MB'")
}

/** The limit for a large write's blocks in DuckDB's memory, and how often it is checked. */
const WRITTEN_BYTES_KEPT = 64 * 1024 ** 2
const LET_GO_MS = 200

/**
 * Runs work that writes much. DuckDB keeps each written block in memory, up to its limit, so it is made to release them
 * meanwhile.
 */
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

/** For blocks of the file; half as many more are released at a time, so that it happens less often. */
const BLOCK_BYTES_KEPT = 128 * 1024 ** 2

/**
 * Releases most blocks of the file that DuckDB keeps in memory, up to its limit: the operating system has them as well,
 * and gives its copies back when memory is needed. What is in use by statements stays, and the blocks that are kept
 * make room for what they need meanwhile: none of them fails for it.
 */
export async function trimCache(
  connection: DuckDBConnection,
  memoryLimit: string,
  keptBytes = BLOCK_BYTES_KEPT,
): Promise<void> {
  const reader = await connection.runAndReadAll(`SELECT sum(memory_usage_bytes),
    sum(memory_usage_bytes) FILTER (tag = 'BASE_TABLE') FROM duckdb_memory()`)
  const [total = 0, blocks = 0] = (reader.getRows()[0] ?? []).map(Number)
  if (blocks <= 1.5 * keptBytes) return
  await lowerLimit(connection, total - blocks + keptBytes, memoryLimit)
}

/** Lowers the limit and raises it again: DuckDB 1.5.5 has no other way. */
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
    // More than that is in use: the limit is unchanged.
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
    // Set by the function below.
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
    // One for each list that a lambda processes.
    ...(isTotal ? { initFunction: (info) => info.setState({ sum: 0 }) } : {}),
  })
}

function sumOf(input: DuckDBDataChunk): number {
  const column = input.getColumnVector(0)
  let sum = 0
  for (let row = 0; row < input.rowCount; row += 1) sum += Number(column.getItem(row) ?? 0)
  return sum
}
