import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { bannedPhrases } from './plain-english.ts'
import { trackedTextFiles } from './tracked-files.ts'

const PROSE = /^(?:README|CONTRIBUTING)\.md$|^docs\/.*\.md$|^(?:src|tests|bench|scripts)\/.*\.tsx?$/

test('pages, comments and test names have none of the banned phrases', async () => {
  const files = await trackedTextFiles(join(import.meta.dir, '../..'))
  const prose = files.filter(({ path }) => {
    return PROSE.test(path) && !path.startsWith('tests/structure/plain-english')
  })
  expect(bannedPhrases(prose)).toEqual([])
})

test('planted phrases are found in prose, and not in code', () => {
  const text = [
    '// Whoever reads it is told.',
    "test('nobody waits', () => {})",
    "const stands = call('nobody')",
    '/** Equal names are told apart. */',
  ].join('\n')
  expect(bannedPhrases([{ path: 'src/a.ts', text }])).toEqual([
    'src/a.ts:1: Whoever',
    'src/a.ts:2: nobody',
  ])
  expect(bannedPhrases([{ path: 'docs/a.md', text: 'It stands here.' }])).toEqual([
    'docs/a.md:1: stands',
  ])
})
