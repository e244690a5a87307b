import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ERRORS } from '../../src/core/errors.ts'
import { SETTINGS } from '../../src/wiring/settings/settings.ts'
import {
  brokenLinks,
  longDecisions,
  missingCitations,
  missingPaths,
  misstatedErrors,
  routesOf,
  undocumentedRoutes,
  unlistedDecisions,
  unnamed,
} from './documentation.ts'
import { trackedPaths, trackedTextFiles } from './tracked-files.ts'

const README_BYTES_MAX = 6 * 1024
const DECISION_LINES_MAX = 25

const root = join(import.meta.dir, '../..')
const files = await trackedTextFiles(root)
const paths = await trackedPaths(root)
const pages = files.filter(({ path }) => path.endsWith('.md'))

function pageOf(path: string): string {
  const page = pages.find((one) => one.path === path)
  if (page === undefined) throw new Error(`There is no ${path}`)
  return page.text
}

test('README.md is short', () => {
  expect(Buffer.byteLength(pageOf('README.md'))).toBeLessThanOrEqual(README_BYTES_MAX)
})

test('a decision is short, and measurements are elsewhere', () => {
  expect(longDecisions(pages, DECISION_LINES_MAX)).toEqual([])
})

test('the index of decisions lists each of them', () => {
  expect(unlistedDecisions(pages, pageOf('docs/decisions/README.md'))).toEqual([])
})

test('planted decisions that are too long or in no index are found', () => {
  const planted = [
    { path: 'docs/decisions/0001-one.md', text: 'a\nb\nc\n' },
    { path: 'docs/decisions/0002-two.md', text: 'a\nb\n' },
    { path: 'docs/decisions/README.md', text: 'a\nb\nc\n' },
  ]
  expect(longDecisions(planted, 2)).toEqual(['0001-one.md'])
  const index = '- 1 [One](0001-one.md)\n- 3 [Two](0002-two.md)'
  expect(unlistedDecisions(planted, index)).toEqual(['0002-two.md'])
})

test('docs/settings.md names every setting', () => {
  const names = Object.values(SETTINGS).map((setting) => setting.name)
  expect(names).toContain('EIDER_PORT')
  expect(unnamed(names, pageOf('docs/settings.md'))).toEqual([])
})

test('docs/errors.md shows every error code with its status and number', () => {
  expect(misstatedErrors(ERRORS, pageOf('docs/errors.md'))).toEqual([])
})

test('every error code has a number of its own', () => {
  const codes = Object.entries(ERRORS).map(([code, { number }]) => ({ code, number }))
  const shared = [...Map.groupBy(codes, ({ number }) => number).values()]
    .filter((same) => same.length > 1)
    .map((same) => same.map(({ code }) => code))
  expect(shared).toEqual([])
})

test('a planted setting that is only part of a word is found', () => {
  expect(unnamed(['EIDER_PORT', 'EIDER_HOST'], 'Set `EIDER_HOST` or EIDER_PORT_2')).toEqual([
    'EIDER_PORT',
  ])
})

test('a planted error with another number is found', () => {
  const errors = {
    not_found: { status: 404, number: 1201 },
    timeout: { status: 504, number: 5001 },
  }
  const text = '| not_found | 404 | 1201 |\n| timeout | 504 | 5002 |\n5001'
  expect(misstatedErrors(errors, text)).toEqual(['timeout'])
})

test('planted routes without a line are found, other names for parameters are none', () => {
  const openApi = {
    paths: {
      '/api/projects/{project_name}': { get: {}, delete: {}, parameters: [] },
      '/api/projects/': { get: {} },
      '/api/sql/query': { post: {} },
      '/api/util/ping': { get: {} },
    },
  }
  const text = '| GET | `/api/projects` |\nGET /api/projects/{name}, GET /api/sql/query.'
  expect(undocumentedRoutes(routesOf(openApi), text)).toEqual([
    'DELETE /api/projects/{project_name}',
    'POST /api/sql/query',
    'GET /api/util/ping',
  ])
})

test('files and folders that the pages name are there', () => {
  expect(missingPaths(pages, paths)).toEqual([])
})

test('planted names of files that are not there are found, routes and options are not', () => {
  const text =
    'Look at `src/sql/gone.ts`, `sql/rewrite.ts`, `sql/old/`, `/sql/x`, `a/b`, `rewrite.ts`, `gone.ts` and `docs/`'
  const planted = missingPaths([{ path: 'docs/a.md', text }], ['src/sql/rewrite.ts', 'docs/a.md'])
  const missing = ['src/sql/gone.ts', 'sql/old', 'gone.ts']
  expect(planted).toEqual(missing.map((path) => `docs/a.md: ${path}`))
})

test('links lead to pages and headings that are there', () => {
  expect(brokenLinks(pages, paths)).toEqual([])
})

test('planted broken links are found', () => {
  const planted = [
    { path: 'docs/a.md', text: '[1](b.md) [2](b.md#in-a-few-words) [3](gone.md) [4](#none)' },
    { path: 'docs/b.md', text: '## In a few words\n[5](../docs/) [6](https://example.org/x)' },
  ]
  expect(brokenLinks(planted, ['docs/a.md', 'docs/b.md'])).toEqual([
    'docs/a.md: gone.md',
    'docs/a.md: #none',
  ])
})

test('pages that the code cites are there', () => {
  const sources = files.filter(({ path }) => path.startsWith('src/'))
  expect(missingCitations(sources, pages)).toEqual([])
})

test('planted citations of pages that are not there are found', () => {
  const text =
    '// docs/a.md 4, docs/a.md 4.2, docs/a.md 5, docs/a.md 4.3, b.md, decision 7, decision 8, github.com/x/y.md'
  const found = missingCitations(
    [{ path: 'src/a.ts', text }],
    [
      { path: 'docs/a.md', text: '## 4. SQL\n1. one\n2. two\n## 6. Agents\n3. three\n' },
      { path: 'docs/decisions/0007-seven.md', text: '' },
    ],
  )
  expect(found).toEqual([
    'src/a.ts: docs/a.md 5',
    'src/a.ts: docs/a.md 4.3',
    'src/a.ts: b.md',
    'src/a.ts: decision 8',
  ])
})
