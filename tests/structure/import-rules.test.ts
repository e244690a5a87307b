import { expect, test } from 'bun:test'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import {
  cycles,
  FOLDER_ORDER,
  folderViolations,
  libraryViolations,
  MAY_IMPORT,
  ONLY_IMPORTERS,
  risingImports,
  serverCodeInPage,
  threadsReachingStore,
  viewsWithinOthers,
} from './import-rules.ts'
import { plantedModules, projectModules } from './source-module.ts'

const modules = await projectModules(join(import.meta.dir, '../..'))
const dependencies = Object.keys(packageJson.dependencies)

test('the compiler shows the modules that are there', () => {
  const paths = modules.map((module) => module.path)
  expect(paths).toContain('src/core/errors.ts')
  expect(paths).toContain('tests/structure/import-rules.test.ts')
  expect(modules.flatMap((module) => module.imports).length).toBeGreaterThan(20)
})

/** Returns the rows of a Markdown table whose cells contain names between back-ticks. */
function tableOfNames(markdown: string, heading: string): readonly (readonly string[][])[] {
  const section = markdown.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => {
    const cells = row.split('|').slice(1, -1)
    return cells.map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
  })
}

test('docs/architecture.md shows the rules that hold', async () => {
  const page = await Bun.file(join(import.meta.dir, '../../docs/architecture.md')).text()
  const rules = Object.entries(MAY_IMPORT).map(([place, allowed]) => {
    const libraries = Object.keys(ONLY_IMPORTERS).filter((library) => {
      return ONLY_IMPORTERS[library]?.[0]?.split('/')[0] === place
    })
    return [[place], [...allowed], libraries]
  })
  const shown = tableOfNames(page, 'Who may import whom')
  const sorted = (table: readonly (readonly string[][])[]) =>
    table.map((row) => row.map((cell) => cell.toSorted()))
  expect(sorted(shown)).toEqual(sorted(rules))
})

test('docs/architecture.md draws the rules that hold', async () => {
  const page = await Bun.file(join(import.meta.dir, '../../docs/architecture.md')).text()
  const [, diagram = ''] = page.split('```mermaid\n')
  const arrows = [
    ...(diagram.split('```')[0] ?? '').matchAll(/^ {2}(\w+) (?:-- types )?--> (\w+)$/gm),
  ]
  const drawn = arrows.map(([, from, to]) => `${from} ${to}`)
  const rules = Object.entries(MAY_IMPORT)
    // Every folder imports `core`. Those arrows would hide the others.
    .flatMap(([place, allowed]) => {
      return allowed.filter((to) => to !== 'core').map((to) => `${place} ${to}`)
    })
  const roots = drawn.filter((arrow) => arrow.startsWith('app '))
  expect(drawn.toSorted()).toEqual([...rules, ...roots].toSorted())
})

test('docs/architecture.md has a line for every folder of src/', async () => {
  const page = await Bun.file(join(import.meta.dir, '../../docs/architecture.md')).text()
  const lines = page.match(/^\| `src\/[\w/-]+` \|/gm) ?? []
  const sources = modules.filter(({ path }) => /^src\/.+\/.+\.tsx?$/.test(path))
  const folders = new Set(sources.map(({ path }) => path.replace(/[^/]+$/, '')))
  const written = new Set(lines.map((line) => line.replace(/^\| `|` \|$/g, '')))
  expect([...folders].filter((folder) => !written.has(folder))).toEqual([])
})

test('docs/architecture.md shows the order within each folder', async () => {
  const page = await Bun.file(join(import.meta.dir, '../../docs/architecture.md')).text()
  const shown = tableOfNames(page, 'Order within a folder')
  const rules = Object.entries(FOLDER_ORDER).map(([room, order]) => [[room], [...order]])
  expect(shown.map((row) => row.slice(0, 2))).toEqual(rules)
})

test('no import runs back up within a folder', () => {
  expect(risingImports(modules)).toEqual([])
})

test('a planted import that runs back up is found, by a detour too; one that goes down is not', async () => {
  const planted = await plantedModules({
    'src/query/select/run.ts': `import '../statements/show.ts'; import '../information-schema/tables.ts'`,
    'src/query/statements/show.ts': `import { x } from '../../sql/subquery/rewrite.ts'; import './other.ts'`,
    'src/query/statements/other.ts': 'export {}',
    'src/query/information-schema/tables.ts': `import type { Deps } from '../deps.ts'`,
    'src/query/deps.ts': `import type { Cache } from './cache.ts'; export type Deps = Cache`,
    'src/query/cache.ts': `import type { Plan } from './select/plan.ts'; export type Cache = Plan`,
    'src/query/select/plan.ts': 'export type Plan = 1',
    'src/query/attic/box.ts': 'export {}',
    'src/sql/subquery/rewrite.ts': 'export const x = 1',
  })
  expect(risingImports(planted)).toEqual([
    'src/query/attic/box.ts: "attic" has no place in query',
    'src/query/information-schema/tables.ts imports src/query/deps.ts',
    'src/query/select/run.ts imports src/query/statements/show.ts',
  ])
})

test('no view imports from within another, only the frame around it', async () => {
  expect(viewsWithinOthers(modules)).toEqual([])
  const planted = await plantedModules({
    'src/ui/views/map/map-view.tsx': `import '../places/place-frame.tsx'; import '../places/list/rows.tsx'; import './dots.ts'`,
    'src/ui/page.tsx': `import './views/places/list/rows.tsx'`,
  })
  expect(viewsWithinOthers(planted)).toEqual([
    'src/ui/views/map/map-view.tsx imports src/ui/views/places/list/rows.tsx',
  ])
})

test('the page takes types alone from the server', () => {
  expect(serverCodeInPage(modules)).toEqual([])
})

test('a planted import of server code into the page is found; types and the domain are not', async () => {
  const planted = await plantedModules({
    'src/ui/page.tsx': `import '../api/http/server.ts'; import type { X } from '../api/http/x.ts'; import '../core/domain/y.ts'`,
    'src/api/http/server.ts': 'export {}',
    'src/api/http/x.ts': 'export type X = 1',
    'src/core/domain/y.ts': 'export {}',
  })
  expect(serverCodeInPage(planted)).toEqual(['src/ui/page.tsx imports src/api/http/server.ts'])
})

test('each folder imports only what it may', () => {
  expect(folderViolations(modules)).toEqual([])
})

test('a planted import into a foreign folder is found, a type import too', async () => {
  const planted = await plantedModules({
    'src/sql/tokens.ts': `import type { Database } from '../store/database.ts'`,
    'src/store/database.ts': `export class Database {}`,
    'src/api/http/wire.ts': `export const load = () => import('../../models/registry.ts')`,
    'src/models/registry.ts': `export { quote } from '../core/domain/identifier.ts'`,
    'src/core/domain/names.ts': `export const quote = 1; export * from '../../../scripts/x.ts'`,
    'src/app.ts': `import { Database } from './store/database.ts'; new Database()`,
  })
  expect(folderViolations(planted)).toEqual([
    'src/api/http/wire.ts imports src/models/registry.ts',
    'src/core/domain/names.ts imports scripts/x.ts',
    'src/sql/tokens.ts imports src/store/database.ts',
  ])
})

test('a planted folder without a rule is found', async () => {
  const planted = await plantedModules({ 'src/helpers/pad.ts': 'export const pad = 1' })
  expect(folderViolations(planted)).toEqual([
    'src/helpers/pad.ts: "helpers" has no line in the import rules',
  ])
})

test('each library is imported by its own folder only', () => {
  expect(libraryViolations(modules, dependencies)).toEqual([])
})

test('a planted library in a foreign folder is found, an unknown one too', async () => {
  const planted = await plantedModules({
    'src/agents/loop.ts': `import OpenAI from 'openai'; import { x } from 'openai/resources'`,
    'src/store/drizzle.ts': `import { drizzle } from 'drizzle-orm/pg-proxy'; import 'node:fs'`,
    'src/store/store.ts': `import { DuckDBInstance } from '@duckdb/node-api'`,
    'src/store/duckdb/database.ts': `import { DuckDBInstance } from '@duckdb/node-api'`,
    'src/api/http/server.ts': `import type { Logger } from 'pino'`,
    'src/query/run/run-query.ts': `import 'left-pad'`,
  })
  expect(libraryViolations(planted, ['openai', 'left-pad'])).toEqual([
    'src/agents/loop.ts imports openai',
    'src/agents/loop.ts imports openai/resources',
    'src/api/http/server.ts imports pino',
    'src/query/run/run-query.ts imports left-pad',
    'src/store/store.ts imports @duckdb/node-api',
    'left-pad: a dependency without an import rule',
  ])
})

test('no module imports itself by a detour, type imports included', () => {
  expect(cycles(modules)).toEqual([])
})

test('a planted cycle is found once', async () => {
  const planted = await plantedModules({
    'src/sql/a.ts': `import { b } from './b.ts'`,
    'src/sql/b.ts': `import type { C } from './c.ts'; export const b = 1`,
    'src/sql/c.ts': `export type C = typeof import('./a.ts')`,
    'src/sql/d.ts': `import './a.ts'`,
  })
  expect(cycles(planted)).toEqual(['src/sql/a.ts -> src/sql/b.ts -> src/sql/c.ts -> src/sql/a.ts'])
})

// A second thread that opens the database file gets no error, but a copy that diverges.
test('no thread reaches the database', () => {
  expect(threadsReachingStore(modules)).toEqual([])
})

test('a planted way from a thread to the database is found', async () => {
  const planted = await plantedModules({
    'src/wiring/threads/agent.ts': `import '../../agents/loop.ts'`,
    'src/agents/loop.ts': `import '../store/database.ts'`,
    'src/store/database.ts': 'export const database = 1',
    'src/wiring/threads/embedder.ts': 'export {}',
    'src/wiring/threads/map.ts': `import '../../core/values.ts'`,
    'src/core/values.ts': `import { DuckDBValue } from '@duckdb/node-api'`,
  })
  expect(threadsReachingStore(planted)).toEqual([
    'src/wiring/threads/agent.ts -> src/agents/loop.ts -> src/store/database.ts',
    'src/wiring/threads/map.ts -> src/core/values.ts',
  ])
})
