import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { constructViolations, nameViolations, sizeViolations } from './code-rules.ts'
import { plantedModules, projectModules } from './source-module.ts'

const modules = await projectModules(join(import.meta.dir, '../..'))

test('files and functions are small enough to hold', () => {
  expect(sizeViolations(modules)).toEqual([])
})

test('a planted long file, long function and wide function are found', async () => {
  const lines = (count: number) => Array.from({ length: count }, () => '  call()').join('\n')
  const planted = await plantedModules({
    'src/sql/file.ts': `${lines(400)}\nexport {}`,
    'src/sql/function.ts': `const ok = () => {\n if (a) b()\n${lines(57)}\n}\nfunction long() {\n for (;;) b()\n${lines(58)}\n}`,
    'src/sql/wiring.ts': `const wired = () => {\n${lines(90)}\n  onError(() => (a ? b : c))\n}`,
    'src/sql/wide.ts': 'export class Store { insert(a: 1, b: 2, c: 3, d: 4, e: 5) { return a } }',
    'tests/sql/case.test.ts': `test('all', () => {\n${lines(80)}\n})`,
  })
  expect(sizeViolations(planted)).toEqual([
    'src/sql/file.ts: 401 lines',
    'src/sql/function.ts:61: long has 61 lines',
    'src/sql/wide.ts:1: insert has 5 parameters',
  ])
})

test('files say what is in them', () => {
  expect(nameViolations(modules.map((module) => module.path))).toEqual([])
})

test('planted names that say nothing are found', () => {
  const fine = ['src/sql/a-b.ts', 'src/store/sql-text.d.ts', 'tests/sql/a-b.test.ts']
  const paths = ['src/utils/pad.ts', 'src/api/http/types.ts', 'src/sql/readTokens.ts', ...fine]
  expect(nameViolations(paths)).toEqual([
    'src/utils/pad.ts: "utils" names nothing',
    'src/api/http/types.ts: "types" names nothing',
    'src/sql/readTokens.ts: not in kebab-case',
  ])
})

test('the code does without what the style guide bans', () => {
  expect(constructViolations(modules)).toEqual([])
})

test('planted banned constructs are found, in comments and strings they are nothing', async () => {
  const planted = await plantedModules({
    'src/sql/a.ts': [
      'export let count: any = 0',
      'export default function first(list: string[]) {',
      '  return list[0]!.length',
      '}',
      'enum Colour { Red }',
      'const colour = Colour.Red as unknown',
      'const port = process.env.PORT',
    ].join('\n'),
    'src/sql/fine.ts': [
      '// any, list[0]! and `let x` in a comment are words.',
      "export const text = 'const x: any = y!; enum E {}'",
      'export const tuple = [1, 2] as const',
      '// The parser gives unknown; the shape was checked above.',
      'export const cast = JSON.parse(text) as string',
    ].join('\n'),
    'src/store/sql-text.d.ts': "declare module '*.sql' { const text: string; export = text }",
    'tests/sql/a.test.ts': 'let seen: any = 0; const cast = seen as number',
  })
  expect(constructViolations(planted)).toEqual([
    'src/sql/a.ts:1: module-level mutable variable',
    'src/sql/a.ts:1: any',
    'src/sql/a.ts:2: default export',
    'src/sql/a.ts:3: non-null assertion',
    'src/sql/a.ts:5: enum',
    'src/sql/a.ts:6: cast without a reason above',
    'src/sql/a.ts:7: environment',
    'tests/sql/a.test.ts:1: any',
  ])
})
