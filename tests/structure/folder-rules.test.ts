import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { crowdedFolders, shallowFiles, sharedNames } from './folder-rules.ts'
import { plantedModules, projectModules } from './source-module.ts'

const modules = await projectModules(join(import.meta.dir, '../..'))

/** Files that are small, have one importer, and still are files of their own for a reason. */
const SHALLOW_FOR_A_REASON: Readonly<Record<string, string>> = {
  'src/access-settings.ts':
    'the settings of access and of the doors, as agent-settings.ts has those of agents',
  'src/analysis/foreign-words.ts':
    'words of languages belong into analysis; its importer is in query',
}

const pathOf = (violation: string) => violation.split(': ')[0] ?? ''

test('a folder has at most thirty files', () => {
  expect(crowdedFolders(modules)).toEqual([])
})

test('a planted folder with more files is found', async () => {
  const files = Array.from({ length: 31 }, (_, index) => `src/sql/lexer/part-${index}.ts`)
  const planted = await plantedModules({
    ...Object.fromEntries(files.map((path) => [path, 'export const part = 1'])),
    'src/sql/rewrite.ts': 'export const rewrite = 1',
    'tests/sql/rewrite.test.ts': 'export {}',
  })
  expect(crowdedFolders(planted)).toEqual(['src/sql/lexer: 31 files'])
})

test('a file with one importer is worth opening', () => {
  const shallow = shallowFiles(modules)
  expect(shallow.filter((one) => !Object.hasOwn(SHALLOW_FOR_A_REASON, pathOf(one)))).toEqual([])
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

test('every exception is still needed', () => {
  const shallow = shallowFiles(modules).map(pathOf)
  expect(shallow).toEqual(expect.arrayContaining(Object.keys(SHALLOW_FOR_A_REASON)))
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
