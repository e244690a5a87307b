/**
 * `npm run extensions` fetches DuckDB's vss extension, in the version for this program's DuckDB,
 * through pip if DuckDB's own site cannot be reached. Once it could be loaded, the file is put into
 * EIDER_EXTENSION_DIR or `extensions/`.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { version } from '@duckdb/node-api'
import { HnswDatabase } from '../src/store/hnsw/hnsw-database.ts'
import { SETTINGS } from '../src/wiring/settings/settings.ts'

const PACKAGE = 'duckdb-extension-vss'
const FILE_NAME = 'vss.duckdb_extension'
const FETCH_MS_MAX = 300_000
const PIPS = [['pip'], ['pip3'], ['python3', '-m', 'pip'], ['python', '-m', 'pip']] as const

class Unfetched extends Error {}

const USAGE = `npm run extensions

Fetches DuckDB's vss extension, for DuckDB ${version()}, through pip. It takes no arguments.
EIDER_EXTENSION_DIR names the folder (${SETTINGS.extensionDirectory.default}).
`

const [argument] = Bun.argv.slice(2)
if (argument === '--help' || argument === '-h') {
  process.stdout.write(USAGE)
  process.exit(0)
}
if (argument !== undefined) {
  process.stderr.write(`There is no argument ${JSON.stringify(argument)}\n\n${USAGE}`)
  process.exit(2)
}

const temporary = mkdtempSync(join(tmpdir(), 'eider-extensions-'))
try {
  const fetched = fetch(version().replace(/^v/, ''))
  const platform = await loaded(fetched)
  const path = placed(fetched, platform)
  process.stdout.write(`The vss extension for DuckDB ${version()}, ${platform}, is in ${path}\n`)
} catch (error) {
  if (!(error instanceof Unfetched)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
} finally {
  rmSync(temporary, { recursive: true, force: true })
}

/** pip's messages contain addresses, so only their meaning is shown. */
function fetch(wanted: string): string {
  const install = ['install', `${PACKAGE}==${wanted}`, '--no-deps', '--no-compile', '--quiet']
  for (const [command, ...before] of PIPS) {
    const run = spawnSync(command, [...before, ...install, '--target', temporary], {
      encoding: 'utf8',
      timeout: FETCH_MS_MAX,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    if (run.error !== undefined && !isTimeout(run.error)) continue
    if (/No module named pip/.test(run.stderr)) continue
    if (run.status === 0) return unpacked(wanted)
    if (/No matching distribution|Could not find a version/i.test(run.stderr)) {
      throw new Unfetched(`pip finds no ${PACKAGE} ${wanted} for this platform`)
    }
    throw new Unfetched(`pip could not fetch ${PACKAGE} ${wanted}`)
  }
  throw new Unfetched(
    'There is no pip here: install Python with pip, or set EIDER_EXTENSION_INSTALL=1',
  )
}

function isTimeout(error: Error): boolean {
  return 'code' in error && error.code === 'ETIMEDOUT'
}

function unpacked(wanted: string): string {
  const path = join(temporary, PACKAGE.replaceAll('-', '_'), 'extensions', `v${wanted}`, FILE_NAME)
  if (existsSync(path)) return path
  throw new Unfetched(`${PACKAGE} ${wanted} does not hold the file ${FILE_NAME}`)
}

/** @returns the platform for which it was built */
async function loaded(extensionPath: string): Promise<string> {
  try {
    const database = await HnswDatabase.open({ extensionPath, memoryLimit: '64MB' })
    const platform = await database.lease(async (connection) => {
      const reader = await connection.runAndReadAll('SELECT platform FROM pragma_platform()')
      return String(reader.getRows()[0]?.[0])
    })
    await database.close()
    return platform
  } catch {
    throw new Unfetched('DuckDB does not load the file that pip gave')
  }
}

/** Moves the file there atomically, so that it is never incomplete. */
function placed(fetched: string, platform: string): string {
  const directory = Bun.env.EIDER_EXTENSION_DIR || SETTINGS.extensionDirectory.default
  const path = join(directory, version(), platform, FILE_NAME)
  const half = `${path}.${process.pid}.part`
  try {
    mkdirSync(dirname(path), { recursive: true })
    cpSync(fetched, half)
    renameSync(half, path)
  } catch (error) {
    rmSync(half, { force: true })
    const [detail] = error instanceof Error ? error.message.split('\n') : [String(error)]
    throw new Unfetched(`${directory} cannot be written: ${detail}`)
  }
  return path
}
