/** Functions of DuckDB that say whether what comes next is small enough: `size-limits.ts` puts them into statements. */
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
export const MEMORY_IS_SHORT = "while the server's memory is short"

/** Steps that functions may take for one set of rows: a second or two. No interrupt reaches them. */
const STEPS_MAX = 1e9

/** Below this the process's memory need not be looked at. */
const SMALL_BYTES = 16e6

/** Of the memory limit, what functions may make for one set of rows. Two threads hold a half then. */
const BYTES_SHARE = 0.25

/** However much memory there is: filling it takes a quarter of a second, and no interrupt comes in between. */
const BYTES_MAX = 256e6

/** What the process takes beside DuckDB: models, vectors, answers. */
const OWN_BYTES = 300e6

/**
 * `eider_room(bytes, what)` and `eider_steps(steps, what)` fail where the rows of one set need too much together.
 * `…_each` is asked for each row although its arguments are constant, `…_total` adds up within one list.
 */
export function registerStepLimits(connection: DuckDBConnection, memoryBytes: number): void {
  const bytesMax = Math.min(BYTES_MAX, memoryBytes * BYTES_SHARE)
  const ceiling = memoryBytes * 1.5 + OWN_BYTES
  const bytes = (found: number) => {
    if (found > bytesMax) return tooMuch(`makes ${megabytes(found)}`, megabytes(bytesMax))
    if (found < SMALL_BYTES || process.memoryUsage.rss() + found < ceiling) return null
    return `makes ${megabytes(found)} ${MEMORY_IS_SHORT}`
  }
  const steps = (found: number) => {
    if (found <= STEPS_MAX) return null
    return tooMuch(`takes ${found.toPrecision(2)} steps`, STEPS_MAX.toPrecision(2))
  }
  for (const [name, problem] of [
    ['eider_room', bytes],
    ['eider_steps', steps],
  ] as const) {
    connection.registerScalarFunction(limitFunction(name, problem, false))
    connection.registerScalarFunction(limitFunction(`${name}_each`, problem, true))
    connection.registerScalarFunction(limitFunction(`${name}_total`, problem, true, true))
  }
}

/**
 * What is free goes back to the system within a second or two. Otherwise that waits for the next allocation of the thread
 * that freed it: gigabytes of one large statement may stay with an idle server.
 */
export async function giveMemoryBack(connection: DuckDBConnection): Promise<void> {
  await connection.run('SET GLOBAL allocator_background_threads = true')
  await connection.run("SET GLOBAL allocator_flush_threshold = '16MB'")
}

/** What a large write may leave in DuckDB's memory, and how often that is looked at. */
const WRITTEN_BYTES_KEPT = 64 * 1024 ** 2
const LET_GO_MS = 200

/**
 * Runs work that writes much. DuckDB keeps each block that it writes in memory, up to its limit, so it is made to let go
 * of them meanwhile.
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

/** Of blocks of the file; half as many more are let go of at once, so that it need not be done often. */
const BLOCK_BYTES_KEPT = 128 * 1024 ** 2

/**
 * Lets go of most blocks of the file that DuckDB keeps in memory, up to its limit: the operating system has them as well,
 * and gives its copies back to whoever needs the memory. What is in use by statements stays, and the blocks that are kept
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

/** The limit is lowered and at once raised again: DuckDB 1.5.5 has no other way to say it. */
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
    // More than that is in use: the limit has not changed.
  }
}

function tooMuch(found: string, limit: string): string {
  const ways = 'use smaller values, or fewer rows at once'
  return `${found} for rows that are computed together, the limit is ${limit}; ${ways}`
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}

interface Total {
  sum: number
}

function limitFunction(
  name: string,
  problem: (found: number) => string | null,
  volatile: boolean,
  isTotal = false,
): DuckDBScalarFunction {
  const mainFunction = (
    info: DuckDBScalarFunctionInfo,
    input: DuckDBDataChunk,
    output: DuckDBVector,
  ) => {
    const sum = sumOf(input)
    const state = isTotal ? info.getState() : undefined
    // What the function below has set.
    const total = state as Total | undefined
    if (total !== undefined) total.sum += sum
    const found = problem(total?.sum ?? sum)
    if (found !== null) {
      info.setError(`${TOO_COSTLY}${input.getColumnVector(1).getItem(0)} ${found}`)
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
    volatile,
    // One for each list that a lambda is called for.
    ...(isTotal ? { initFunction: (info) => info.setState({ sum: 0 }) } : {}),
  })
}

function sumOf(input: DuckDBDataChunk): number {
  const column = input.getColumnVector(0)
  let sum = 0
  for (let row = 0; row < input.rowCount; row += 1) sum += Number(column.getItem(row) ?? 0)
  return sum
}
