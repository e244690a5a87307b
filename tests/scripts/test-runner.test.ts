import { expect, test } from 'bun:test'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')

/** Runs scripts/test.mjs in a separate project that contains only these test files. */
async function runTests(
  files: Readonly<Record<string, string>>,
  ...flags: readonly string[]
): Promise<{ readonly exitCode: number; readonly lastLine: string; readonly output: string }> {
  const project = await mkdtemp(join(tmpdir(), 'eider-runner-'))
  try {
    await mkdir(join(project, 'scripts'))
    await cp(join(ROOT, 'scripts/test.mjs'), join(project, 'scripts/test.mjs'))
    await symlink(join(ROOT, 'node_modules'), join(project, 'node_modules'))
    await Promise.all(
      Object.entries(files).map(([path, text]) => {
        return Bun.write(join(project, 'tests', path), `import { test } from 'bun:test'\n${text}`)
      }),
    )
    const command = [process.execPath, join(project, 'scripts/test.mjs'), ...flags]
    const run = Bun.spawnSync(command, { cwd: project, stdout: 'pipe', stderr: 'ignore' })
    const output = run.stdout.toString().trimEnd()
    return { exitCode: run.exitCode, lastLine: output.split('\n').at(-1) ?? '', output }
  } finally {
    await rm(project, { recursive: true, force: true })
  }
}

const PASSES = `test('holds', () => {})\n`
const FAILS = `test('breaks', () => { throw new Error('broken') })\n`

test('the closing line sums up all suites, with --slow the slow ones too', async () => {
  const files = {
    'sql/a.test.ts': PASSES.repeat(2),
    'http/b.test.ts': `${PASSES}test.skip('later', () => {})`,
    'slow/http/c.test.ts': PASSES,
    // One that waits beside the others, and one that runs after them.
    'slow/sources/d.test.ts': PASSES,
    'slow/server/e.test.ts': PASSES,
    'browser/f.test.ts': PASSES,
    'clients/g.test.ts': PASSES,
    'models/h.test.ts': PASSES,
    'support/fake.ts': '',
  }
  const ended = async (...flags: string[]) => {
    const { exitCode, lastLine } = await runTests(files, ...flags)
    return [exitCode, lastLine]
  }
  expect(await ended()).toEqual([0, '4 passed, 0 failed'])
  expect(await ended('--slow')).toEqual([0, '9 passed, 0 failed'])
  expect(await ended('--quick')).toEqual([0, '1 passed, 0 failed'])
})

test('--after=FILE: the slow suites wait for that file, the others do not', async () => {
  // The last of the fast ones makes it.
  const files = {
    'a/a.test.ts': `${PASSES}await Bun.sleep(500); await Bun.write('made', '')`,
    'slow/b/b.test.ts': `if (!(await Bun.file('made').exists())) throw new Error('too early')\n${PASSES}`,
  }
  const all = await runTests(files, '--slow', '--after=made')
  expect(all).toMatchObject({ exitCode: 0, lastLine: '2 passed, 0 failed' })
  expect((await runTests(files, '--slow')).exitCode).toBe(1)
})

test('what needs the vss extension is tested where that is asked for, and counts like the rest', async () => {
  const files = { 'sql/a.test.ts': PASSES, 'hnsw/b.test.ts': FAILS }
  expect(await runTests(files)).toMatchObject({ exitCode: 0, lastLine: '1 passed, 0 failed' })
  const all = await runTests(files, '--hnsw')
  expect(all).toMatchObject({ exitCode: 1, lastLine: '1 passed, 1 failed' })
})

test('--all asks for every case of long lists', async () => {
  const fails = `test('every case', () => { if (process.env.EIDER_TESTS === 'all') throw new Error() })`
  const files = { 'sql/a.test.ts': fails }
  expect(await runTests(files)).toMatchObject({ exitCode: 0, lastLine: '1 passed, 0 failed' })
  expect(await runTests(files, '--all')).toMatchObject({ exitCode: 1 })
})

test('one failure in any suite ends with 1', async () => {
  const files = { 'sql/a.test.ts': PASSES + FAILS, 'zoo/b.test.ts': PASSES }
  expect(await runTests(files)).toMatchObject({ exitCode: 1, lastLine: '2 passed, 1 failed' })
})

test('what failed is shown again at the end', async () => {
  const files = { 'api/b.test.ts': FAILS, 'slow/zoo/a.test.ts': PASSES }
  const { output } = await runTests(files, '--slow')
  const end = output.slice(output.indexOf('== tests/api failed:'))
  expect(end).toContain('error: broken')
  expect(end).toContain('(fail) breaks')
  expect(end).not.toContain('(pass)')
})

test('a suite that crashes or does not load is a failure', async () => {
  const files = {
    'a/crash.test.ts': `${PASSES}process.exit(3)`,
    'b/load.test.ts': `import './missing.ts'`,
    'c/fine.test.ts': PASSES,
  }
  const { exitCode, lastLine } = await runTests(files)
  expect(exitCode).toBe(1)
  expect(lastLine).toEndWith(' passed, 2 failed')
})

test("after an abort of DuckDB's binding at the end of a process, a suite runs once more", async () => {
  const abort = `console.error('Napi::Error\\npanic: abort() called'); process.exit(134)`
  const once = `import { existsSync, writeFileSync } from 'node:fs'
    if (!existsSync('ran')) { writeFileSync('ran', ''); ${abort} }\n${PASSES}`
  const files = { 'a/once.test.ts': once }
  expect(await runTests(files)).toMatchObject({ exitCode: 0, lastLine: '1 passed, 0 failed' })
  expect(await runTests({ 'a/always.test.ts': abort })).toMatchObject({ exitCode: 1 })
})

test('no test at all ends with 1', async () => {
  expect(await runTests({ 'support/fake.ts': '' })).toMatchObject({
    exitCode: 1,
    lastLine: '0 passed, 0 failed',
  })
})
