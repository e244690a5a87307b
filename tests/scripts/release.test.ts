/** Runs `npm run release` in a small repository created here. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { changelogSection } from '../../scripts/build/release-notes.ts'

const SCRIPT = join(import.meta.dir, '../../scripts/release.ts')
const CHANGELOG =
  '# Changelog\n\n## Unreleased\n\n- **New**: a thing.\n\n## 0.1.0 (2026-11-25)\n\nFirst.\n'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'eider-release-'))
  const manifest = { name: 'eider', version: '0.1.0' }
  put('package.json', JSON.stringify(manifest))
  put('package-lock.json', JSON.stringify({ ...manifest, packages: { '': manifest } }))
  put('CHANGELOG.md', CHANGELOG)
  git('init', '--quiet')
  git('config', 'user.name', 'Ann')
  git('config', 'user.email', 'ann@example.org')
  commit()
})
afterEach(() => rmSync(root, { recursive: true }))

function put(path: string, text: string): void {
  writeFileSync(join(root, path), text)
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function git(...args: readonly string[]): string {
  return Bun.spawnSync(['git', ...args], { cwd: root })
    .stdout.toString()
    .trim()
}

function commit(): void {
  git('add', '--all')
  git('commit', '--quiet', '--message', 'a change')
}

function release(...args: readonly string[]) {
  const command = [process.execPath, SCRIPT, ...args, '--root', root, '--no-folder']
  const { exitCode, stdout, stderr } = Bun.spawnSync(command)
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() }
}

test('prepare sets the version, writes the section, commits and tags', () => {
  expect(release('prepare', '0.2.0')).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(read('package.json'))).toEqual({ name: 'eider', version: '0.2.0' })
  const lock = JSON.parse(read('package-lock.json'))
  expect([lock.version, lock.packages[''].version]).toEqual(['0.2.0', '0.2.0'])
  const today = new Date().toISOString().slice(0, 10)
  expect(changelogSection(read('CHANGELOG.md'), '0.2.0')).toEqual({
    date: today,
    text: '- **New**: a thing.',
  })
  expect(changelogSection(read('CHANGELOG.md'), '0.1.0')?.text).toBe('First.')
  expect([git('status', '--porcelain'), git('describe', '--exact-match')]).toEqual(['', 'v0.2.0'])
  expect(release('check', 'v0.2.0')).toMatchObject({ code: 0, err: '' })
})

test('prepare refuses what cannot be released, and changes nothing', () => {
  const refusals = [
    ['0.2', 'expected 1.2.3'],
    ['0.0.9', 'older than 0.1.0'],
  ] as const
  for (const [version, words] of refusals) {
    expect(release('prepare', version)).toMatchObject({
      code: 1,
      err: expect.stringContaining(words),
    })
  }
  put('notes.txt', 'not committed')
  expect(release('prepare', '0.2.0').err).toContain('commit or stash')
  put('CHANGELOG.md', CHANGELOG.replace('- **New**: a thing.\n\n', ''))
  commit()
  expect(release('prepare', '0.2.0').err).toContain('nothing under')
  git('tag', 'v0.2.0')
  expect(release('prepare', '0.2.0').err).toContain('exists already')
  expect(JSON.parse(read('package.json')).version).toBe('0.1.0')
  expect(git('status', '--porcelain')).toBe('')
})

test('check refuses a tag that is not this version, and a version without a section', () => {
  expect(release('check', 'v0.2.0').err).toContain('not v0.1.0')
  put('CHANGELOG.md', '# Changelog\n\n## Unreleased\n')
  expect(release('check', 'v0.1.0').err).toContain('no section')
  expect(release('publish')).toMatchObject({ code: 1, err: expect.stringContaining('prepare') })
})
