/**
 * Runs every folder of `tests/` as one suite, the slow ones last, and closes with one plain line: `N passed, N failed`.
 * With `--fast` it leaves the slow ones out; with `--hnsw` it adds those that need the vss extension (`npm run extensions`). Ends with 1 on any failure, and when nothing ran. Node and Bun both run it.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SUITE_MS_MAX = 6 * 60_000
const TEST_MS_MAX = 60_000
const TEST_FILE = /\.(test|spec)\.tsx?$/

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const bun = join(
  dirname(createRequire(import.meta.url).resolve('bun/package.json')),
  'bin',
  'bun.exe',
)
const reports = mkdtempSync(join(tmpdir(), 'eider-test-'))
try {
  const withSlow = !process.argv.includes('--fast')
  const withHnsw = process.argv.includes('--hnsw')
  const counts = suites({ withSlow, withHnsw }).map((suite, index) => runSuite(suite, index))
  process.exitCode = closingLine(counts)
} finally {
  rmSync(reports, { recursive: true, force: true })
}

/** Folders with tests, relative to the project, fast ones first: each folder of `tests/slow/` is a suite too. */
function suites({ withSlow, withHnsw }) {
  const fast = foldersOf('tests').filter((folder) => !/[\\/](slow|support|hnsw)$/.test(folder))
  const slow = withSlow ? foldersOf(join('tests', 'slow')) : []
  const hnsw = withHnsw ? [join('tests', 'hnsw')] : []
  return [...fast, ...slow, ...hnsw].filter(hasTests)
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

function runSuite(suite, index) {
  console.log(`\n== ${suite}`)
  const report = join(reports, `${index}.xml`)
  const path = `./${suite.replaceAll('\\', '/')}/`
  const run = spawnSync(
    bun,
    ['test', path, `--timeout=${TEST_MS_MAX}`, '--reporter=junit', `--reporter-outfile=${report}`],
    {
      cwd: root,
      env: { ...process.env, UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE ?? '16' },
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: SUITE_MS_MAX,
      killSignal: 'SIGKILL',
    },
  )
  return withCrash(countsOf(report), run, suite)
}

/** The report's own totals; none of it where bun ended before it could write one. */
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
  const skipped = sum('skipped')
  const parts = [`${sum('passed')} passed`, `${sum('failed')} failed`]
  if (skipped > 0) console.log(`\n${skipped} skipped`)
  if (sum('passed') + sum('failed') === 0) console.error('\nNo test ran')
  console.log(parts.join(', '))
  return sum('failed') > 0 || sum('passed') === 0 ? 1 : 0
}
