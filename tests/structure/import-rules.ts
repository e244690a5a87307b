/**
 * Which folder may import which. A test compares this table with the one in docs/architecture.md.
 */
import { posix } from 'node:path'
import type { SourceModule } from './source-module.ts'

/** A folder in `src/`, and what it may import besides its own files. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  sql: ['core'],
  retrieval: ['core'],
  reading: ['core'],
  sources: ['core'],
  store: ['core'],
  models: ['core'],
  agents: ['core'],
  ops: ['core'],
  ingest: ['core', 'reading'],
  query: ['core', 'sql', 'retrieval', 'ingest'],
  api: ['core', 'query', 'ingest', 'agents'],
  cli: ['core', 'store', 'api'],
  ui: ['core', 'api'],
}

/** These connect all parts, so they may import anything. Threads still never reach the database. */
const COMPOSITION_ROOTS: readonly string[] = ['main.ts', 'serve.ts', 'app.ts', 'eider.ts', 'wiring']

/**
 * The order of the folders in a top-level folder. Each imports only from those after it, also
 * through the files directly in the top-level folder.
 */
export const FOLDER_ORDER: Readonly<Record<string, readonly string[]>> = {
  core: ['text', 'domain', 'runtime'],
  api: ['postgres', 'mcp', 'http'],
  query: [
    'postgres',
    'run',
    'evaluate',
    'statements',
    'rows',
    'documents',
    'search',
    'select',
    'information-schema',
    'definitions',
  ],
  sql: ['subquery', 'search', 'pushdown', 'dialect', 'guard', 'ast', 'lexer'],
  retrieval: ['map', 'keywords', 'rows', 'ivf', 'vectors', 'kernel'],
  agents: ['questions', 'actors', 'loop', 'tools', 'evidence', 'data'],
  models: ['registries', 'rerankers', 'builtin', 'providers'],
  ingest: ['sync', 'pipeline', 'crawl', 'sources', 'readers', 'chunking'],
  reading: ['processes', 'documents', 'html', 'tables'],
  sources: ['postgres', 'mysql', 'files'],
  ops: ['jobs', 'telemetry', 'supervisor'],
  cli: ['commands', 'ingest', 'sql'],
  ui: ['views', 'uploads', 'shell', 'components', 'api'],
  store: [
    'backup',
    'postgres',
    'records',
    'hnsw',
    'tables',
    'documents',
    'catalog',
    'upkeep',
    'duckdb',
  ],
}

/**
 * Each library is used in one place, except the logger, which the root files use. Other code uses
 * the project's own interface for it. A place is a folder in `src/`, a subfolder or a file.
 */
export const ONLY_IMPORTERS: Readonly<Record<string, readonly string[]>> = {
  openai: ['models'],
  '@anthropic-ai/sdk': ['models'],
  '@modelcontextprotocol/sdk': ['api/mcp', 'agents/tools'],
  'onnxruntime-node': ['models'],
  '@duckdb/node-api': [
    'store/duckdb',
    'store/catalog',
    'store/documents',
    'store/tables',
    'store/upkeep',
    'store/records',
    'store/hnsw',
    'store/backup',
    'store/postgres',
    'reading/tables',
    'reading/processes',
    'sources/files',
    'core/domain',
    'core/runtime',
  ],
  '@duckdb/node-bindings': ['store/duckdb/columnar'],
  flatbuffers: ['store/duckdb/columnar'],
  'drizzle-orm': ['store'],
  elysia: ['api/http'],
  '@elysiajs/jwt': ['api/http'],
  'js-tiktoken': ['api/http/openai'],
  turndown: ['reading'],
  '@mixmark-io/domino': ['reading'],
  '@embedpdf/pdfium': ['reading/documents/pdf'],
  fflate: ['reading'],
  yauzl: ['reading'],
  htmlparser2: ['reading'],
  'postal-mime': ['reading/documents'],
  micromark: ['reading/documents', 'api/http/page', 'ui/views/agents/asking'],
  'micromark-extension-gfm-table': ['api/http/page', 'ui/views/agents/asking'],
  yaml: ['reading/documents'],
  pg: ['sources/postgres'],
  mysql2: ['sources/mysql'],
  ajv: ['agents/loop'],
  re2js: ['agents/loop'],
  'robots-parser': ['ingest'],
  'ipaddr.js': ['core/runtime'],
  'snowball-stemmers': ['core/text'],
  '@orama/stemmers': ['core/text'],
  croner: ['core/runtime', 'store/backup', 'wiring/settings'],
  chokidar: ['cli/ingest'],
  '@opentelemetry/api': ['ops/telemetry'],
  '@opentelemetry/exporter-trace-otlp-http': ['ops/telemetry'],
  '@opentelemetry/exporter-trace-otlp-proto': ['ops/telemetry'],
  '@opentelemetry/resources': ['ops/telemetry'],
  '@opentelemetry/sdk-trace-base': ['ops/telemetry'],
  'prom-client': ['ops/telemetry'],
  preact: ['ui'],
  'preact-iso': ['ui'],
  '@preact/signals': ['ui'],
  '@codemirror/autocomplete': ['ui'],
  '@codemirror/commands': ['ui'],
  '@codemirror/lang-sql': ['ui'],
  '@codemirror/language': ['ui'],
  '@codemirror/lint': ['ui'],
  '@codemirror/search': ['ui'],
  '@codemirror/state': ['ui'],
  '@codemirror/view': ['ui'],
  '@lezer/highlight': ['ui'],
  uplot: ['ui'],
  pino: ['main.ts', 'serve.ts', 'app.ts'],
}

/** Returns imports from one folder in `src/` into another that the table above does not name. */
export function folderViolations(modules: readonly SourceModule[]): readonly string[] {
  return sourceModules(modules).flatMap((module) => {
    const from = folderOf(module.path)
    if (COMPOSITION_ROOTS.includes(from)) return []
    const allowed = MAY_IMPORT[from]
    if (allowed === undefined) return [`${module.path}: "${from}" has no line in the import rules`]
    return localImports(module)
      .filter((target) => !isAllowed(target, from, allowed))
      .map((target) => `${module.path} imports ${target}`)
  })
}

/** Code in `src/` imports no code from outside. */
function isAllowed(target: string, from: string, allowed: readonly string[]): boolean {
  if (isData(target)) return true
  if (!target.startsWith('src/')) return false
  const to = folderOf(target)
  return to === from || allowed.includes(to)
}

/** Numbered migrations, pages and assets are files without code of the project. */
function isData(target: string): boolean {
  return !/\.(ts|tsx|mjs|js)$/.test(target)
}

/**
 * Returns what the page imports at run time from the server's code, apart from `domain`. Its
 * records are types only, so that no server code reaches the browser.
 */
export function serverCodeInPage(modules: readonly SourceModule[]): readonly string[] {
  return sourceModules(modules).flatMap((module) => {
    if (!module.path.startsWith('src/ui/')) return []
    return module.runtimeImports
      .filter((target) => target.startsWith('.'))
      .map((target) => posix.join(posix.dirname(module.path), target))
      .filter(
        (target) =>
          !isData(target) &&
          !/^src\/(ui\/|core\/(domain\/|json\.ts|short-text\.ts|time\.ts))/.test(target),
      )
      .map((target) => `${module.path} imports ${target}`)
  })
}

/** Returns libraries imported in the wrong place, and libraries without a rule. */
export function libraryViolations(
  modules: readonly SourceModule[],
  dependencies: readonly string[],
): readonly string[] {
  const misplaced = sourceModules(modules).flatMap((module) => {
    return module.imports
      .filter((target) => isLibrary(target) && !isOwnLibrary(target, module.path))
      .map((target) => `${module.path} imports ${target}`)
  })
  const known = [...Object.keys(ONLY_IMPORTERS), ...NOT_IMPORTED_BY_SRC]
  const unruled = dependencies.filter((name) => !known.includes(name))
  return [...misplaced, ...unruled.map((name) => `${name}: a dependency without an import rule`)]
}

/** These are run as programs, or used only by scripts. */
const NOT_IMPORTED_BY_SRC: readonly string[] = ['bun', 'swagger-ui-dist']

function isLibrary(target: string): boolean {
  return !/^(\.|node:|bun$|bun:)/.test(target)
}

function isOwnLibrary(target: string, path: string): boolean {
  const name = Object.keys(ONLY_IMPORTERS).find((library) => {
    return target === library || target.startsWith(`${library}/`)
  })
  const places = name === undefined ? [] : (ONLY_IMPORTERS[name] ?? [])
  return places.some((place) => path === `src/${place}` || path.startsWith(`src/${place}/`))
}

/** Returns imports against the order within a folder, and folders that its order does not list. */
export function risingImports(modules: readonly SourceModule[]): readonly string[] {
  const graph = importGraph(modules)
  return Object.entries(FOLDER_ORDER).flatMap(([top, order]) => {
    return [...graph].flatMap(([path, targets]) => {
      const from = folderIn(top, path)
      if (from === undefined || from === '') return []
      if (!order.includes(from)) return [`${path}: "${from}" has no place in ${top}`]
      return targets
        .filter((target) => {
          const reached = foldersReached(top, target, graph)
          return [...reached].some((folder) => order.indexOf(folder) < order.indexOf(from))
        })
        .map((target) => `${path} imports ${target}`)
    })
  })
}

/**
 * Returns a module's subfolder. For a file directly in the folder, returns all subfolders that the
 * file leads to.
 */
function foldersReached(
  top: string,
  path: string,
  graph: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const folder = folderIn(top, path)
  if (folder === undefined) return new Set()
  if (folder !== '') return new Set([folder])
  return new Set((graph.get(path) ?? []).flatMap((next) => [...foldersReached(top, next, graph)]))
}

/** `src/query/select/run.ts` → `select`, `src/query/run.ts` → nothing, undefined outside of the top-level folder. */
function folderIn(folder: string, path: string): string | undefined {
  const [src, first, ...rest] = path.split('/')
  if (src !== 'src' || first !== folder) return undefined
  return rest.length > 1 ? (rest[0] ?? '') : ''
}

/**
 * Files of a view that other views may import: the frame around the views of one knowledge base,
 * and the code for map positions in URLs.
 */
const FOR_OTHER_VIEWS = /-frame\.tsx$|\/map-part\.ts$/

/** Returns views that import files inside another view. */
export function viewsWithinOthers(modules: readonly SourceModule[]): readonly string[] {
  return [...importGraph(modules)].flatMap(([path, targets]) => {
    const view = viewOf(path)
    if (view === undefined) return []
    return targets
      .filter((target) => {
        return ![undefined, view].includes(viewOf(target)) && !FOR_OTHER_VIEWS.test(target)
      })
      .map((target) => `${path} imports ${target}`)
  })
}

/** `src/ui/views/sql/result/plan.tsx` → `sql`. */
function viewOf(path: string): string | undefined {
  return /^src\/ui\/views\/([^/]+)\//.exec(path)?.[1]
}

/** Returns each cycle once, as `a.ts -> b.ts -> a.ts`. Type imports are dependencies, too. */
export function cycles(modules: readonly SourceModule[]): readonly string[] {
  const graph = importGraph(modules)
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start !== -1) found.push([...trail.slice(start), path].join(' -> '))
    if (start !== -1 || done.has(path)) return
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return found
}

/**
 * Returns thread entries that reach `src/store/` or DuckDB's binding, with the path by which they
 * reach it. The binding takes 90 ms of CPU to load.
 */
export function threadsReachingStore(modules: readonly SourceModule[]): readonly string[] {
  const graph = importGraph(modules)
  const binding = modules.filter(({ runtimeImports }) => runtimeImports.includes(BINDING))
  const goals = new Set(binding.map(({ path }) => path))
  const isGoal = (path: string) => isInStore(path) || goals.has(path)
  const entries = [...graph.keys()].filter((path) => path.startsWith('src/wiring/threads/'))
  return entries.flatMap((entry) => {
    const way = wayTo(entry, OWN_DUCKDB.has(entry) ? isInStore : isGoal, graph)
    return way === undefined ? [] : [way.join(' -> ')]
  })
}

const BINDING = '@duckdb/node-api'

/** These run in processes of their own, with databases of their own. */
const OWN_DUCKDB: ReadonlySet<string> = new Set([
  'src/wiring/threads/reading-entry.ts',
  'src/wiring/threads/source-file-entry.ts',
])

function isInStore(path: string): boolean {
  return path.startsWith('src/store/')
}

function wayTo(
  entry: string,
  isGoal: (path: string) => boolean,
  graph: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const reached = new Set<string>()
  const pending: (readonly string[])[] = [[entry]]
  for (let trail = pending.shift(); trail !== undefined; trail = pending.shift()) {
    const path = trail.at(-1) ?? entry
    if (isGoal(path)) return trail
    if (reached.has(path)) continue
    reached.add(path)
    const longer = trail
    pending.push(...(graph.get(path) ?? []).map((next) => [...longer, next]))
  }
  return undefined
}

export function importGraph(
  modules: readonly SourceModule[],
): ReadonlyMap<string, readonly string[]> {
  return new Map(modules.map((module) => [module.path, localImports(module)]))
}

function localImports(module: SourceModule): readonly string[] {
  const folder = posix.dirname(module.path)
  return module.imports
    .filter((target) => target.startsWith('.'))
    .map((target) => posix.join(folder, target))
}

export function sourceModules(modules: readonly SourceModule[]): readonly SourceModule[] {
  return modules.filter((module) => module.path.startsWith('src/'))
}

/** `src/api/http/wire.ts` → `api`, `src/app.ts` → `app.ts`. */
function folderOf(path: string): string {
  return path.split('/')[1] ?? ''
}
