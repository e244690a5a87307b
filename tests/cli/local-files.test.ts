import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TimeLeft } from '../../src/cli/ingest/ingest-progress.ts'
import { type FileRules, fileRoots, findFiles } from '../../src/cli/ingest/local-files.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'eider-files-'))
  mkdirSync(join(folder, 'sub'))
  mkdirSync(join(folder, 'node_modules'))
  writeFileSync(join(folder, 'a.md'), 'a')
  writeFileSync(join(folder, 'logo.png'), 'a')
  writeFileSync(join(folder, 'empty.md'), '')
  writeFileSync(join(folder, '.env'), 'a')
  symlinkSync('sub', join(folder, 'link'))
  symlinkSync('nowhere', join(folder, 'broken'))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function found(given: Partial<FileRules> = {}, word = folder) {
  const rules: FileRules = { isAll: false, include: [], exclude: [], base: folder, ...given }
  const roots = await fileRoots([word], rules, false)
  const { files, leftOut, leftOutCount } = await findFiles(
    roots,
    rules,
    new AbortController().signal,
  )
  expect(leftOutCount).toBe(leftOut.length)
  const reasons = Object.fromEntries(leftOut.map(({ path, reason }) => [path, reason]))
  return { files: files.map(({ id }) => id), reasons }
}

test('files left out by default rules are named with the reason', async () => {
  expect(await found()).toEqual({
    files: ['a.md'],
    reasons: {
      '.env': 'hidden; --all takes it',
      'node_modules/': 'what programs put there; --all takes it',
      'logo.png': 'no text in this format; --all takes it',
      'empty.md': 'empty',
      link: 'a link to a folder; name it to read it',
      broken: 'it leads nowhere, or went meanwhile',
    },
  })
})

test('files left out by the user’s patterns are not reported', async () => {
  const { files, reasons } = await found({}, join(folder, '*.png'))
  expect(files).toEqual(['logo.png'])
  expect(Object.keys(reasons).toSorted()).toEqual(['.env', 'node_modules/'])
  const excluded = await found({ exclude: ['*.png', 'empty.md'] })
  expect(excluded.reasons).not.toHaveProperty('logo.png')
  expect(excluded.reasons).not.toHaveProperty('empty.md')
})

test('the time that is left goes by bytes, and is not said before there is a base', () => {
  const small = { sizeBytes: 100 }
  const large = { sizeBytes: 800 }
  const left = new TimeLeft([small, small, large])
  expect(left.after(small, 1)).toBeNull()
  expect(left.after(small, 10)).toBeCloseTo(40)
  expect(left.after(large, 50)).toBe(0)
  expect(new TimeLeft([{ sizeBytes: 0 }]).after({ sizeBytes: 0 }, 10)).toBeNull()
})
