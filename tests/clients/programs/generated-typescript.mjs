// Generates a client by openapi-typescript or @hey-api/openapi-ts, compiles a program of the documentation against it, and runs it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const { EIDER_URL, GENERATOR } = process.env
const clients = resolve(import.meta.dirname, '..')
const page = readFileSync(resolve(clients, '../../docs/generated-clients.md'), 'utf8')
const [, program] = page.split(`<!-- ${GENERATOR} -->\n\`\`\`ts\n`)
const folder = mkdtempSync(join(tmpdir(), 'eider-generated-'))
const run = (name, ...args) => {
  const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }
  return execFileSync(
    process.execPath,
    [join(clients, 'node_modules/.bin', name), ...args],
    options,
  )
}
try {
  symlinkSync(join(clients, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type": "commonjs"}')
  writeFileSync(join(folder, 'program.ts'), program.split('\n```')[0])
  const url = `${EIDER_URL}/openapi.json`
  const told =
    GENERATOR === 'hey-api'
      ? run('openapi-ts', '-i', url, '-o', 'eider')
      : run('openapi-typescript', url, '-o', 'eider.ts')
  if (/warn|skip|unsupported/i.test(told)) throw new Error(told)
  const strict = [
    '--strict',
    '--skipLibCheck',
    '--target',
    'es2022',
    '--lib',
    'es2022,dom,dom.iterable',
  ]
  run(
    'tsc',
    ...strict,
    '--module',
    'commonjs',
    '--moduleResolution',
    'node10',
    '--outDir',
    'out',
    'program.ts',
  )
  const env = { PATH: process.env.PATH, EIDER_URL }
  process.stdout.write(execFileSync(process.execPath, ['out/program.js'], { cwd: folder, env }))
} catch (error) {
  process.stderr.write(`${error.stdout ?? ''}${error.stderr ?? ''}`)
  throw error
} finally {
  rmSync(folder, { recursive: true, force: true })
}
