/** The commands in README.md and docs/ on a machine with Node but without Bun. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }

const root = join(import.meta.dir, '../..')
const pages = [
  'README.md',
  ...[...new Bun.Glob('docs/**/*.md').scanSync(root)].filter(
    (path) => !path.includes('decisions/'),
  ),
]
const texts = await Promise.all(pages.map((page) => Bun.file(join(root, page)).text()))

test('no page asks for a Bun on the PATH', () => {
  const asking = pages.filter((_, index) => /\bbun (?:run|src|x)\b/.test(texts[index] ?? ''))
  expect(asking.filter((page) => !/development|architecture|contract/.test(page))).toEqual([])
})

test('every `eider …` that they name is there, with its options', async () => {
  const named = texts.flatMap((text) => [...text.matchAll(/(?:^|`|npx )eider ([a-z][a-z-]*)/gm)])
  const commands = [...new Set(named.map(([, command = '']) => command))]
  expect(commands.length).toBeGreaterThan(5)
  const node = Bun.which('node')
  if (node === null) throw new Error('the tests need Node, as users do')
  const bin = mkdtempSync(join(tmpdir(), 'eider-node-only-'))
  symlinkSync(node, join(bin, 'node'))
  const failed: string[] = []
  for (const command of commands) {
    const child = Bun.spawn(['node', join(root, 'scripts/eider.mjs'), command, '--help'], {
      env: { PATH: bin, HOME: bin },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const output = await new Response(child.stdout).text()
    if ((await child.exited) !== 0 || !output.includes(`eider ${command}`)) failed.push(command)
  }
  rmSync(bin, { recursive: true })
  expect(failed).toEqual([])
}, 60_000)

test('every npm script that they name is there, and completes the installation of Bun before it uses it', () => {
  const scripts: Readonly<Record<string, string>> = packageJson.scripts
  const named = texts.flatMap((text) => [
    ...text.matchAll(/\bnpm (?:run )?(start|test|(?<=run )[\w:-]+)/g),
  ])
  const names = [...new Set(named.map(([, name = '']) => name))]
  expect(names.length).toBeGreaterThan(8)
  const failing = names.filter((name) => {
    const command = scripts[name]
    if (command === undefined) return true
    const usesBun = /(^|[ =])bun /.test(command)
    return usesBun && !(scripts[`pre${name}`] ?? '').includes('scripts/ensure-bun.mjs')
  })
  expect(failing).toEqual([])
})

test('what Bun would read of the current folder is not read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eider-foreign-'))
  writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./foreign.ts"]\n')
  writeFileSync(join(folder, 'foreign.ts'), "console.log('foreign code ran')\n")
  writeFileSync(join(folder, '.env'), 'EIDER_URL=http://127.0.0.1:9/foreign\n')
  const child = Bun.spawn(['node', join(root, 'scripts/eider.mjs'), 'status'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, EIDER_PORT: '1' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const output = await new Response(child.stdout).text()
  const complaint = await new Response(child.stderr).text()
  rmSync(folder, { recursive: true })
  expect([output, complaint]).toEqual(['', expect.stringContaining('http://127.0.0.1:1')])
})
