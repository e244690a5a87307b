import { expect, test } from 'bun:test'
import { join } from 'node:path'
import budget from './budget.json' with { type: 'json' }
import { folderSizes, mutualFolders, shallowFiles, sharedNames } from './folder-rules.ts'
import { plantedModules, projectModules } from './source-module.ts'

/**
 * The maximum of files and lines for each folder. It should only decrease, unless a new feature needs more. Meet it by
 * merging what belongs together, not with longer lines, denser code or fewer comments.
 */
const BUDGET: Readonly<Record<string, readonly number[]>> = budget

const modules = await projectModules(join(import.meta.dir, '../..'))

test('no two folders within a top-level folder import each other', () => {
  expect(mutualFolders(modules)).toEqual([])
})

test('planted folders that import each other are found, a folder and its subfolder too', async () => {
  const planted = await plantedModules({
    'src/sql/a.ts': `import './lexer/b.ts'`,
    'src/sql/lexer/b.ts': `import '../ast/c.ts'; import type { D } from '../d.ts'`,
    'src/sql/ast/c.ts': `import '../lexer/e.ts'; import '../../core/f.ts'`,
    'src/sql/lexer/e.ts': 'export {}',
    'src/sql/d.ts': 'export type D = 1',
    'src/core/f.ts': 'export {}',
  })
  expect(mutualFolders(planted)).toEqual([
    'src/sql and src/sql/lexer',
    'src/sql/ast and src/sql/lexer',
  ])
})

/**
 * The reserve for a change that adds a little. If a folder shrinks by more, its budget shrinks too.
 */
const SLACK = 0.02

// Style sheets are not counted here, because the compiler treats them as data.
test('each folder keeps within its budget of files and lines, and the budget follows it down', () => {
  const over: string[] = []
  const generous: string[] = []
  for (const [folder, [files, lines]] of Object.entries(folderSizes(modules))) {
    const [filesMax = 0, linesMax = 0] = BUDGET[folder] ?? []
    const sizes = `${folder}: ${files} files and ${lines} lines of ${filesMax} and ${linesMax}`
    if (files > filesMax || lines > linesMax) over.push(sizes)
    const isGenerous = (size: number, max: number) => size < max * (1 - 2 * SLACK) - 10
    if (isGenerous(files, filesMax) || isGenerous(lines, linesMax)) generous.push(sizes)
  }
  expect({ over, generous }).toEqual({ over: [], generous: [] })
})

test('a file with one importer is worth opening', () => {
  expect(shallowFiles(modules)).toEqual([])
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
    'src/wiring/threads/reader.ts': 'export {}',
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
