import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SCRIPT = join(import.meta.dir, '../../scripts/extensions.ts')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eider-script-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the script with this shell script as `pip`, or without one. */
function runWith(pip: string | null, ...args: readonly string[]) {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  if (pip !== null) {
    writeFileSync(join(bin, 'pip'), `#!/bin/sh\n${pip}\n`)
    chmodSync(join(bin, 'pip'), 0o755)
  }
  const directory = join(folder, 'extensions')
  const run = Bun.spawnSync([process.execPath, SCRIPT, ...args], {
    env: { PATH: bin, HOME: folder, TMPDIR: folder, EIDER_EXTENSION_DIR: directory },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  return {
    exitCode: run.exitCode,
    said: run.stderr.toString().trim(),
    answered: run.stdout.toString().trim(),
    isMade: existsSync(directory),
  }
}

test('without pip the script says what to do', () => {
  const { exitCode, said, isMade } = runWith(null)
  expect([exitCode, isMade]).toEqual([1, false])
  expect(said).toStartWith('There is no pip here')
})

test('a version that pip does not find is named, and no address', () => {
  const { exitCode, said } = runWith(
    'echo "ERROR: at https://host.example No matching distribution found for x" >&2; exit 1',
  )
  expect(exitCode).toBe(1)
  expect(said).toMatch(/^pip finds no duckdb-extension-vss \d+\.\d+\.\d+ for this platform$/)
})

test('any other failure of pip shows no address', () => {
  const { exitCode, said } = runWith('echo "Retrying https://host.example" >&2; exit 2')
  expect(exitCode).toBe(1)
  expect(said).toMatch(/^pip could not fetch duckdb-extension-vss \d+\.\d+\.\d+$/)
})

test('a package without the file is a failure', () => {
  const { exitCode, said, isMade } = runWith('exit 0')
  expect([exitCode, isMade]).toEqual([1, false])
  expect(said).toContain('does not hold the file')
})

test('a file that DuckDB does not load is not put in place', () => {
  const { exitCode, said, isMade } = runWith(`
    for last; do :; done
    version=$(echo "$2" | /bin/sed 's/.*==//')
    target="$last/duckdb_extension_vss/extensions/v$version"
    /bin/mkdir -p "$target"
    echo garbage > "$target/vss.duckdb_extension"`)
  expect([exitCode, isMade]).toEqual([1, false])
  expect(said).toBe('DuckDB does not load the file that pip gave')
})

test('an argument that it does not know is refused, and pip is not asked', () => {
  const { exitCode, said, isMade } = runWith('echo asked >&2; exit 1', '--bogus')
  expect([exitCode, isMade]).toEqual([2, false])
  expect(said).toStartWith('There is no argument "--bogus"')
  expect(said).toContain('npm run extensions')
  expect(said).not.toContain('asked')
})

test('--help says what it does, and does nothing', () => {
  const { exitCode, answered, isMade } = runWith('exit 1', '--help')
  expect([exitCode, isMade]).toEqual([0, false])
  expect(answered).toContain('EIDER_EXTENSION_DIR')
})
