/** Statements that want all memory or all time, beside a server with 512 MB: an answer each, little memory, an idle process. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { startServer, withFolder } from '../server/server-process.ts'

const QUERY_MS = 2000
/**
 * A statement is ended at 1.5 times the limit of 512 MB, and takes more until it has noticed: 880 to 1 190 MB were measured.
 * One that nothing ends takes several thousand.
 */
const PEAK_BYTES = 3 * 512e6
const BACK_BYTES = 700e6

/** Refused by a limit, out of time, out of memory, or no place free while one of these ends. */
const CODES = [4009, 4002, 4007, 5001, 5005, 5003]

/** In each `?` stands a text of many rows that is large only when it runs. */
const TEXTS = [
  `repeat(name, 3000000)`,
  `repeat('x', 900000) || i`,
  `(SELECT repeat('y', 900000)) || i`,
  `lpad(name, (1000000 + i)::INT, 'x')`,
] as const
const MEMORY = [
  'SELECT max(upper(?)) FROM',
  'SELECT max(len(replace(?, name, ?))) FROM',
  "SELECT max(len(regexp_replace(?, '.', ?, 'g'))) FROM",
  "SELECT max(len(string_split(?, ''))) FROM",
  'SELECT max(len(to_json(?))) FROM',
  'SELECT max(len([?, ?, ?])) FROM',
  'SELECT max(hash({a: ?, b: ?})) FROM',
  "SELECT len(string_agg(?, ',')) FROM",
  'SELECT len(list(?)) FROM',
] as const
const OTHERS = [
  `SELECT damerau_levenshtein(repeat('a', 30000), repeat('b', 30000))`,
  `SELECT damerau_levenshtein(repeat(name, 10000), repeat(name, 10000)) FROM files.people`,
  `SELECT max(levenshtein(repeat(name, 5000), repeat('b', 15000 + i::INT))) FROM files.people, range(2000) t(i)`,
  `SELECT max(jaro_similarity(repeat(name, 5000), repeat('b', 15000 + i::INT))) FROM files.people, range(2000) t(i)`,
  `SELECT max(editdist3(repeat(name, 5000), repeat('b', 15000 + i::INT))) FROM files.people, range(2000) t(i)`,
  `SELECT list_reduce(range(5000000), (x, y) -> x + y)`,
  `SELECT list_reduce(range(id * 3000000), (x, y) -> x + y) FROM files.people`,
  `SELECT len(list_resize([name], id * 500000000)) FROM files.people`,
  `SELECT len(range(id * 500000000)) FROM files.people`,
  `SELECT len(list_transform(range(id * 1000000), x -> repeat('a', 2000))) FROM files.people`,
  `SELECT len(list_sort(range(id * 9000000))) FROM files.people`,
  `SELECT bitstring(name, 2000000000) FROM files.people`,
  `SELECT repeat('a', 3000) LIKE concat(name, '%a%_a%_a%_a%_a%_a%_a%b') FROM files.people`,
  `SELECT max(regexp_matches(repeat('ab ', 4000), repeat('a?', 2000) || i)) FROM range(4000) t(i)`,
  `WITH RECURSIVE x AS (SELECT 'a' || 'b' AS v UNION ALL SELECT v || v FROM x) SELECT max(len(v)) FROM x`,
  `SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 11`,
  `SELECT max(s) FROM (SELECT md5(i::VARCHAR) || repeat('x', 400) s FROM range(9000000) t(i) ORDER BY s)`,
  `SELECT a.x || b.x FROM (SELECT repeat(name, 400000) x FROM files.people) a, (SELECT repeat(name, 400000) x FROM files.people, range(3000)) b`,
  `WITH a AS (SELECT repeat(name, 100) v FROM files.people), ${Array.from(
    { length: 20 },
    (_, n) => {
      const [to, from] = [String.fromCharCode(98 + n), String.fromCharCode(97 + n)]
      return `${to} AS (SELECT v || v || v AS v FROM ${from})`
    },
  ).join(', ')} SELECT len(v) FROM u`,
] as const

function hostile(): readonly string[] {
  const made = MEMORY.flatMap((statement) => {
    return TEXTS.map((text) => {
      return `${statement.replaceAll('?', text)} files.people, range(20000) t(i)`
    })
  })
  return [...made, ...OTHERS]
}

/** In seconds. A tick is a hundredth of one. */
function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function bytesOf(pid: number, field: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(status.split(`${field}:`)[1]?.trim().split(' ')[0]) * 1024
}

/** Memory of the statement before is given back, or not: then the next one is refused. */
async function untilMemoryIsBack(pid: number, patienceMs = 5000): Promise<number> {
  const until = performance.now() + patienceMs
  while (bytesOf(pid, 'VmRSS') > BACK_BYTES && performance.now() < until) await Bun.sleep(50)
  return bytesOf(pid, 'VmRSS')
}

const onLinux = process.platform === 'linux' ? test : test.skip

onLinux(
  'statements that want everything get an answer and little else',
  async () => {
    await withFolder(async (folder) => {
      const server = await startServer({
        EIDER_DATA_DIR: folder,
        EIDER_MEMORY_LIMIT: '512MB',
        EIDER_QUERY_MS: String(QUERY_MS),
        EIDER_LOG_LEVEL: 'error',
      })
      const file = `SELECT id, name FROM (VALUES (1, 'Ann'), (2, 'Bob')) t(id, name)`
      await server.send('POST', '/api/sql/query', { query: `CREATE TABLE files.people AS ${file}` })
      const statements = hostile()
      expect(statements.length).toBeGreaterThan(50)
      const wrong: unknown[] = []
      for (const query of statements) {
        const answer = await server.send('POST', '/api/sql/query', { query })
        const { error_code: code, type } = (await answer.json()) as Record<string, unknown>
        await untilMemoryIsBack(server.pid)
        if (!CODES.includes(Number(code))) wrong.push([query, type, code])
      }
      expect(wrong).toEqual([])
      expect(await untilMemoryIsBack(server.pid, 60_000)).toBeLessThan(BACK_BYTES)
      await Bun.sleep(2000)
      const before = cpuSecondsOf(server.pid)
      await Bun.sleep(1000)
      expect(cpuSecondsOf(server.pid) - before).toBeLessThan(0.5)
      expect(bytesOf(server.pid, 'VmHWM')).toBeLessThan(PEAK_BYTES)
      const { data } = (await (
        await server.send('POST', '/api/sql/query', { query: 'SELECT 1' })
      ).json()) as Record<string, unknown>
      expect(data).toEqual([[1]])
      server.kill('SIGTERM')
      await server.exited
    })
  },
  300_000,
)
