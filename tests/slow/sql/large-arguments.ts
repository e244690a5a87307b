/** Every function that returns a list, a structure, a map, a text or a blob, with large arguments in many rows. */

import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { isAggregateFunction, isScalarFunction } from '../../../src/sql/guard/function-lists.ts'
import { type ServerProcess, startSupervised, withFolder } from '../server/server-process.ts'

const ROWS = 10_000
const SIZES = [1_000_000, 10_000_000] as const
const PROBE_EVERY_MS = 250

/** The expression for an argument of each type, using the columns of `SOURCE`. */
const ARGUMENTS: readonly (readonly [RegExp, string])[] = [
  [/\[\]|LIST/, 'l'],
  [/^MAP/, 'm'],
  [/^STRUCT/, '{a: v}'],
  [/^(VARCHAR|JSON|ANY|T|NULL)/, 'v'],
  [/^BLOB/, 'v::BLOB'],
  [/INT|DOUBLE|FLOAT|DECIMAL|NUMERIC/, '1000'],
]

/**
 * A text, a list and a map of this many bytes: either the same in each row, or different, so that
 * they must be computed for each row.
 */
const SOURCES = [
  (bytes: number) => {
    const list = `range(${Math.floor(bytes / 8)}) AS l`
    const map = `map_from_entries([{k: 'a', v: repeat('x', ${bytes})}]) AS m`
    const text = `repeat('ab ', ${Math.floor(bytes / 3)}) AS v`
    return `(SELECT ${text}, ${list}, ${map}), range(${ROWS})`
  },
  (bytes: number) => {
    const list = `range(i, i + ${Math.floor(bytes / 8)}) AS l`
    const map = `map_from_entries([{k: 'a', v: repeat('x', ${bytes}) || i}]) AS m`
    const text = `repeat('ab ', ${Math.floor(bytes / 3)}) || i AS v`
    return `(SELECT ${text}, ${list}, ${map} FROM range(${ROWS}) r(i))`
  },
]

/** @returns a statement for each form of each callable function, each source and each size */
export async function largeStatements(): Promise<readonly string[]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const reader = await connection.runAndReadAll(`SELECT DISTINCT function_name,
      list_transform(parameters, lambda name, n: coalesce(parameter_types[n],
        CASE WHEN name IN ('l', 'l1', 'l2', 'list', 'arr') THEN 'LIST' ELSE 'ANY' END))
    FROM duckdb_functions()
    WHERE function_type IN ('scalar', 'aggregate', 'macro') AND regexp_matches(function_name, '^[a-z]')
      AND regexp_matches(coalesce(return_type, 'ANY'), '\\[\\]|LIST|STRUCT|MAP|VARCHAR|BLOB|JSON|ANY|^T$')
    ORDER BY ALL`)
  const calls = new Set<string>()
  for (const [name, types] of reader.getRowsJS()) {
    if (!isScalarFunction(String(name)) && !isAggregateFunction(String(name))) continue
    const args = (types as readonly string[]).map((type) => {
      return ARGUMENTS.find(([pattern]) => pattern.test(type))?.[1]
    })
    if (args.length > 0 && !args.includes(undefined)) calls.add(`${name}(${args.join(', ')})`)
  }
  connection.closeSync()
  instance.closeSync()
  const sources = SIZES.flatMap((bytes) => SOURCES.map((sourceOf) => sourceOf(bytes)))
  return sources.flatMap((source) => {
    return [...calls].map((call) => {
      const isOfRows = isAggregateFunction(call.slice(0, call.indexOf('(')))
      return `SELECT ${isOfRows ? `hash(${call})` : `sum(hash(${call}))`} FROM ${source}`
    })
  })
}

export interface CeilingResult {
  /** Counts by error code. `rows` counts statements that returned all rows. */
  readonly endings: Readonly<Record<string, number>>
  readonly peakBytes: number
  /** Responses to the other client's statements that were not rows. */
  readonly failures: readonly unknown[]
  readonly probes: number
  readonly p99Ms: number
  readonly restarts: { readonly count: number; readonly last: { readonly reason: string } | null }
  /** The response to a statement that needs about 300 MB, after all others. */
  readonly honest: unknown
}

interface Answer {
  readonly type?: string
  readonly error_code?: number
  readonly data?: unknown
}

/**
 * Runs the statements one after the other at 512 MB, while a client sends four small statements a
 * second.
 */
export async function runLarge(
  statements: readonly string[],
  { queryMs, onEnd }: { readonly queryMs: number; readonly onEnd?: (line: string) => void },
): Promise<CeilingResult> {
  let result: CeilingResult | undefined
  await withFolder(async (folder) => {
    const server = await startSupervised({
      EIDER_DATA_DIR: folder,
      EIDER_MEMORY_LIMIT: '512MB',
      EIDER_QUERY_MS: String(queryMs),
      EIDER_LOG_LEVEL: 'silent',
    })
    await sql(server, 'CREATE TABLE t AS SELECT i FROM range(1000) r(i)')
    const peak = watchedPeak(folder)
    const probe = probing(server)
    const endings: Record<string, number> = {}
    for (const query of statements) {
      const startMs = performance.now()
      const { type, error_code: code } = await sql(server, query).catch(
        (): Answer => ({ type: 'broken' }),
      )
      const ending = type === 'table' ? 'rows' : String(code ?? type)
      endings[ending] = (endings[ending] ?? 0) + 1
      onEnd?.(`${Math.round(performance.now() - startMs)} ms ${ending} ${query.slice(0, 80)}`)
    }
    const { failures, times } = await probe.stop()
    const honest = await sql(
      server,
      'SELECT count(*) FROM (SELECT DISTINCT md5(i::VARCHAR) FROM range(3000000) t(i))',
    )
    const status = await (await server.send('GET', '/api/status')).json()
    result = {
      ...{ endings, failures, honest: honest.data ?? honest, peakBytes: peak.stop() },
      ...{ probes: times.length, p99Ms: Math.round(times[Math.floor(times.length * 0.99)] ?? 0) },
      restarts: (status as CeilingResult).restarts,
    }
    server.kill('SIGTERM')
    await server.exited
  })
  if (result === undefined) throw new Error('the folder was not used')
  return result
}

async function sql(server: ServerProcess, query: string): Promise<Answer> {
  return (await (await server.send('POST', '/api/sql/query', { query })).json()) as Answer
}

function probing(server: ServerProcess) {
  let isOver = false
  const failures: unknown[] = []
  const times: number[] = []
  const running = (async () => {
    while (!isOver) {
      const startMs = performance.now()
      const query = `SELECT count(*) FROM t WHERE i < ${times.length}`
      const answer = await sql(server, query).catch((error: unknown) => ({ type: String(error) }))
      if (answer.type !== 'table') failures.push(answer)
      times.push(performance.now() - startMs)
      await Bun.sleep(PROBE_EVERY_MS)
    }
  })()
  return {
    async stop() {
      isOver = true
      await running
      return { failures, times: times.toSorted((a, b) => a - b) }
    },
  }
}

/** The peak of resident memory of the processes that served the folder. */
function watchedPeak(folder: string) {
  let peakBytes = 0
  const look = async () => {
    try {
      const note = JSON.parse(await readFile(join(folder, 'eider.lock'), 'utf8'))
      const status = readFileSync(`/proc/${note.processId}/status`, 'utf8')
      const kilobytes = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0)
      peakBytes = Math.max(peakBytes, kilobytes * 1024)
    } catch {
      // This can happen between two processes.
    }
  }
  const timer = setInterval(look, PROBE_EVERY_MS)
  return {
    stop() {
      clearInterval(timer)
      return peakBytes
    },
  }
}
