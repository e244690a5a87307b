/**
 * Runs each folder in `tests/` as one suite in its own process, three at a time, and ends with one line: `N passed, N
 * failed`. `--slow` adds the slow suites, the browser and third-party clients; `--hnsw` adds those that need the vss
 * extension (`npm run extensions`); with `--after=FILE`, both start once that file is there. `--quick` runs only those
 * that take seconds; `--all` tries every case of the longest lists instead of a sample. Exits with 1 after any failure,
 * or if nothing ran. Works under Node and Bun.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const SUITE_MS_MAX = 20 * 60_000
const TEST_MS_MAX = 120_000
const OUTPUT_MS_MAX = 2000
const SUITES_AT_ONCE = 3
const POLL_MS = 200
/** The longest ones start first, so that none of them runs alone at the end. */
const LONGEST_FIRST = [
  ...['api', 'browser', 'slow/postgres', 'slow/sources', 'slow/api', 'clients', 'slow/models'],
  ...['sql', 'slow/sql', 'store', 'slow/build', 'slow/sync', 'slow/query', 'retrieval', 'http'],
  ...['reading', 'access', 'sync', 'agents', 'slow/docs', 'slow/reading', 'ingest'],
].map((name) => join('tests', ...name.split('/')))
/** Slow suites outside of `tests/slow/`. */
const SLOW = ['browser', 'clients'].map((name) => join('tests', name))
/** `npm run check` runs these. Each takes less than ten seconds of a core, except the rules for the code. */
const QUICK = [
  ...['analysis', 'bench', 'cli', 'evaluation', 'jobs', 'models', 'network', 'projection'],
  ...['runtime', 'scripts', 'sources', 'structure', 'supervisor', 'telemetry', 'ui'],
].map((name) => join('tests', name))
/**
 * These kill processes, use both cores or measure how late timers are, so they run after all others and at most one of
 * them beside another suite.
 */
const AT_LAST = ['server', 'store', 'agents', 'retrieval'].map((name) =>
  join('tests', 'slow', name),
)
/** This many lines of a failed suite's output are shown again at the end, because only the end of a log may be kept. */
const FAILURE_LINES_MAX = 120
/** What Bun prints when DuckDB's binding aborts after the last test, which it rarely does. The cause is unknown. */
const BINDING_ABORT = /Napi::Error[\s\S]*panic: abort\(\) called/
const TEST_FILE = /\.(test|spec)\.tsx?$/

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const bun = join(
  dirname(createRequire(import.meta.url).resolve('bun/package.json')),
  'bin',
  'bun.exe',
)
const awaited = process.argv.find((flag) => flag.startsWith('--after='))?.slice('--after='.length)
const reports = mkdtempSync(join(tmpdir(), 'eider-test-'))
process.once('exit', () => rmSync(reports, { recursive: true, force: true }))
const running = new Set()
process.once('SIGTERM', () => {
  for (const child of running) child.kill('SIGKILL')
  process.exit(1)
})
const all = suites()
const those = (names) => names.filter((suite) => all.includes(suite))
const shared = await runSideBySide(all.filter((suite) => !AT_LAST.includes(suite)))
const last = await runSideBySide(those(AT_LAST), 2)
process.exitCode = closingLine([...shared, ...last])

/** Returns the folders with tests, the longest ones first. Each folder in `tests/slow/` is also a suite. */
function suites() {
  const [isSlow, withHnsw, isQuick] = ['--slow', '--hnsw', '--quick'].map((flag) => {
    return process.argv.includes(flag)
  })
  const all = foldersOf('tests').filter((folder) => !/[\\/](slow|support|hnsw|file)$/.test(folder))
  const fast = all.filter((folder) => !SLOW.includes(folder))
  const some = isQuick ? fast.filter((folder) => QUICK.includes(folder)) : fast
  const slow = isSlow ? [...SLOW, ...foldersOf(join('tests', 'slow'))] : []
  const hnsw = withHnsw ? [join('tests', 'hnsw')] : []
  return [...hnsw, ...slow, ...some].filter(hasTests).sort((a, b) => turnOf(a) - turnOf(b))
}

function turnOf(folder) {
  const turn = LONGEST_FIRST.indexOf(folder)
  return turn === -1 ? LONGEST_FIRST.length : turn
}

function foldersOf(folder) {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name))
    .sort()
}

function hasTests(folder) {
  return entriesOf(folder).some((entry) => {
    return entry.isDirectory() ? hasTests(join(folder, entry.name)) : TEST_FILE.test(entry.name)
  })
}

function entriesOf(folder) {
  try {
    return readdirSync(join(root, folder), { withFileTypes: true })
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}

async function runSideBySide(all, atOnce = SUITES_AT_ONCE) {
  const waiting = [...all]
  const counts = []
  const lane = async () => {
    while (waiting.length > 0) {
      const at = waiting.findIndex((suite) => isPrepared() || !needsMore(suite))
      const [next] = at === -1 ? [] : waiting.splice(at, 1)
      if (next === undefined) await sleep(POLL_MS)
      else counts.push((await runSuite(next)) ?? (await runSuite(next, { isLast: true })))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return counts
}

function needsMore(suite) {
  return SLOW.includes(suite) || /[\\/](slow[\\/]|hnsw$)/.test(suite)
}

function isPrepared() {
  return awaited === undefined || existsSync(awaited)
}

/**
 * The output of a suite is shown when it has ended, so that lines of two suites never mix.
 * @returns null if it must run again, because the binding aborted after the last test
 */
async function runSuite(suite, { isLast = false } = {}) {
  const report = join(reports, `${suite.replaceAll(/[\\/]/g, '-')}.xml`)
  const startedAt = performance.now()
  const run = await ended(
    spawn(
      bun,
      [
        'test',
        `./${suite.replaceAll('\\', '/')}/`,
        `--timeout=${TEST_MS_MAX}`,
        '--reporter=junit',
        `--reporter-outfile=${report}`,
      ],
      {
        cwd: root,
        env: {
          ...process.env,
          UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE ?? '16',
          ...(process.argv.includes('--all') ? { EIDER_TESTS: 'all' } : {}),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: SUITE_MS_MAX,
        killSignal: 'SIGKILL',
      },
    ),
  )
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  process.stdout.write(`\n== ${suite} (${seconds} s)\n${run.output}`)
  if (!isLast && BINDING_ABORT.test(run.output) && !run.output.includes('\n(fail) ')) {
    console.error(`${suite} runs again: DuckDB's binding aborted as the process ended`)
    return null
  }
  const counts = withCrash(countsOf(report), run, suite)
  return { ...counts, suite, failures: counts.failed > 0 ? failuresIn(run.output) : [] }
}

/** Returns the output without the tests that passed. */
function failuresIn(output) {
  const lines = output
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('(pass)'))
  return lines.slice(-FAILURE_LINES_MAX)
}

/** Resolves with how a process ended and with its output. */
function ended(child) {
  const chunks = []
  running.add(child)
  child.stdout.on('data', (chunk) => chunks.push(chunk))
  child.stderr.on('data', (chunk) => chunks.push(chunk))
  return new Promise((resolve) => {
    const end = (how) => {
      running.delete(child)
      resolve({ ...how, output: Buffer.concat(chunks).toString() })
    }
    child.on('error', (error) => end({ status: null, signal: null, error }))
    child.on('close', (status, signal) => end({ status, signal }))
    // A process that it left behind may keep its output open.
    child.on('exit', (status, signal) => {
      const timer = setTimeout(() => end({ status, signal }), OUTPUT_MS_MAX)
      child.on('close', () => clearTimeout(timer))
    })
  })
}

/** Returns the report's own totals, or nothing if Bun ended before it could write one. */
function countsOf(report) {
  let text = ''
  try {
    text = readFileSync(report, 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  const head = /<testsuites\b[^>]*>/.exec(text)?.[0] ?? ''
  const count = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0)
  const failed = count('failures') + count('errors')
  const skipped = count('skipped')
  return { passed: count('tests') - failed - skipped, failed, skipped }
}

/** A suite that ended badly without a failed test (a crash, an error between tests, the deadline) is one failure. */
function withCrash(counts, run, suite) {
  if (run.status === 0 || counts.failed > 0) return counts
  const how = run.error?.message ?? (run.signal ? `signal ${run.signal}` : `status ${run.status}`)
  console.error(`${suite} ended with ${how} and without a failed test`)
  return { ...counts, failed: 1 }
}

function closingLine(counts) {
  const sum = (name) => counts.reduce((total, one) => total + one[name], 0)
  for (const { suite, failures } of counts.filter((one) => one.failed > 0)) {
    console.log(`\n== ${suite} failed:\n${failures.join('\n')}`)
  }
  const skipped = sum('skipped')
  const parts = [`${sum('passed')} passed`, `${sum('failed')} failed`]
  if (skipped > 0) console.log(`\n${skipped} skipped`)
  if (sum('passed') + sum('failed') === 0) console.error('\nNo test ran')
  console.log(parts.join(', '))
  return sum('failed') > 0 || sum('passed') === 0 ? 1 : 0
}
