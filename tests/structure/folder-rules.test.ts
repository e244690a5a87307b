import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { crowdedFolders, shallowFiles, sharedNames } from './folder-rules.ts'
import { plantedModules, projectModules } from './source-module.ts'

const modules = await projectModules(join(import.meta.dir, '../..'))

/** Folders that may be larger than the rule says. Remove a line as soon as the folder is small enough. */
const LARGE_FOLDERS: readonly string[] = []

/** Files that still await being merged into their one importer. Nothing is added here without a reason beside it. */
const STILL_SHALLOW: readonly string[] = [
  'src/analysis/foreign-words.ts',
  'src/http/routes/search-routes.ts',
  'src/ingest/chunking/chunk-markdown.ts',
  'src/ingest/content-id.ts',
  'src/ingest/crawl/page-format.ts',
  'src/ingest/readers/markdown-of-html.ts',
  'src/ingest/readers/markdown.ts',
  'src/ingest/readers/pdf.ts',
  'src/ingest/readers/text.ts',
  'src/ingest/sources/sent-rows.ts',
  'src/query/export-rows.ts',
  'src/query/select/candidate-plan.ts',
  'src/query/select/describe-select.ts',
  'src/query/select/pivot-request.ts',
  'src/query/select/structured-answer.ts',
]

const pathOf = (violation: string) => violation.split(': ')[0] ?? ''

test('a folder has at most twenty files', () => {
  const crowded = crowdedFolders(modules)
  expect(crowded.filter((one) => !LARGE_FOLDERS.includes(pathOf(one)))).toEqual([])
})

test('a planted folder with more files is found', async () => {
  const files = Array.from({ length: 21 }, (_, index) => `src/sql/lexer/part-${index}.ts`)
  const planted = await plantedModules({
    ...Object.fromEntries(files.map((path) => [path, 'export const part = 1'])),
    'src/sql/rewrite.ts': 'export const rewrite = 1',
    'tests/sql/rewrite.test.ts': 'export {}',
  })
  expect(crowdedFolders(planted)).toEqual(['src/sql/lexer: 21 files'])
})

test('a file with one importer is worth opening', () => {
  const shallow = shallowFiles(modules)
  expect(shallow.filter((one) => !STILL_SHALLOW.includes(pathOf(one)))).toEqual([])
})

test('a planted shallow file is found; types, threads and what is tested by itself are not', async () => {
  const lines = (count: number) => `// why\nimport '../sql/b.ts'\n${'call()\n'.repeat(count)}`
  const planted = await plantedModules({
    'src/sql/a.ts': `import './shallow.ts'; import './deep.ts'; import './shared.ts'
      import type { A } from './type.ts'; import './tested.ts'; import '../workers/reader.ts'`,
    'src/sql/b.ts': `import './shared.ts'`,
    'src/sql/shallow.ts': lines(39),
    'src/sql/deep.ts': lines(40),
    'src/sql/shared.ts': 'export const shared = 1',
    'src/sql/type.ts': 'export interface A { readonly a: 1 }',
    'src/sql/tested.ts': 'export const tested = 1',
    'src/workers/reader.ts': 'export {}',
    'tests/sql/tested.test.ts': `import '../../src/sql/tested.ts'`,
  })
  expect(shallowFiles(planted)).toEqual([
    'src/sql/shallow.ts: 39 lines, imported by src/sql/a.ts alone',
  ])
})

test('no two files of src/ have one name', () => {
  expect(sharedNames(modules)).toEqual([])
})

test('planted files of one name are found', async () => {
  const planted = await plantedModules({
    'src/sql/deadline.ts': 'export {}',
    'src/store/deadline.ts': 'export {}',
    'tests/sql/deadline.ts': 'export {}',
  })
  expect(sharedNames(planted)).toEqual(['src/sql/deadline.ts and src/store/deadline.ts'])
})
