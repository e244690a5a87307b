/** Who may import whom: the table of docs/architecture.md, which a test compares with this one. */
import { posix } from 'node:path'
import type { SourceModule } from './source-module.ts'

/** A folder of `src/`, or a file that stands in `src/` itself, and what it may import besides its own. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  'setting-values.ts': ['core'],
  'access-settings.ts': ['setting-values.ts'],
  'agent-settings.ts': ['setting-values.ts', 'domain', 'core', 'errors.ts'],
  'settings.ts': [
    'access-settings.ts',
    'agent-settings.ts',
    'setting-values.ts',
    'core',
    'errors.ts',
  ],
  core: [],
  runtime: ['core', 'errors.ts'],
  network: ['runtime', 'core', 'errors.ts'],
  domain: ['core', 'errors.ts'],
  analysis: ['domain', 'core', 'errors.ts'],
  evaluation: ['domain', 'core', 'errors.ts'],
  sql: ['domain', 'core', 'errors.ts'],
  retrieval: ['domain', 'analysis', 'runtime', 'core', 'errors.ts'],
  projection: ['domain', 'analysis', 'runtime', 'core', 'errors.ts'],
  reading: ['domain', 'runtime', 'core', 'errors.ts'],
  values: ['domain', 'core', 'errors.ts'],
  sources: ['domain', 'runtime', 'network', 'values', 'core', 'errors.ts'],
  ingest: ['domain', 'analysis', 'runtime', 'network', 'reading', 'core', 'errors.ts'],
  agents: ['domain', 'runtime', 'core', 'errors.ts'],
  catalog: ['domain', 'runtime', 'core', 'errors.ts'],
  jobs: ['domain', 'runtime', 'core', 'errors.ts'],
  telemetry: ['domain', 'runtime', 'core', 'errors.ts'],
  store: ['domain', 'analysis', 'runtime', 'values', 'core', 'errors.ts'],
  models: ['domain', 'analysis', 'runtime', 'network', 'core', 'errors.ts'],
  mcp: ['domain', 'runtime', 'network', 'core', 'errors.ts'],
  query: [
    'domain',
    'analysis',
    'runtime',
    'sql',
    'retrieval',
    'evaluation',
    'ingest',
    'catalog',
    'core',
    'errors.ts',
  ],
  http: [
    'domain',
    'runtime',
    'network',
    'catalog',
    'query',
    'ingest',
    'agents',
    'core',
    'errors.ts',
  ],
  cli: ['store', 'domain', 'core', 'errors.ts'],
  supervisor: ['domain', 'runtime', 'core', 'errors.ts'],
  ui: ['domain', 'http'],
}

/** They join the middle to the edges, so they may import anything; threads still never reach the database. */
const COMPOSITION_ROOTS: readonly string[] = [
  'main.ts',
  'serve.ts',
  'app.ts',
  'composition',
  'eider.ts',
  'workers',
]

/**
 * The folders of a room in their order: a folder imports only from those after it, also by way of the files that stand in
 * the room itself.
 */
export const FOLDER_ORDER: Readonly<Record<string, readonly string[]>> = {
  query: [
    'run',
    'evaluate',
    'statements',
    'rows',
    'show',
    'documents',
    'search',
    'select',
    'information-schema',
  ],
  sql: ['subquery', 'search', 'pushdown', 'dialect', 'guard', 'ast', 'lexer'],
  retrieval: ['keywords', 'rows', 'ivf', 'vectors', 'kernel'],
  agents: ['questions', 'actors', 'loop', 'tools', 'evidence', 'data'],
  reading: ['processes', 'documents', 'html', 'tables'],
  cli: ['commands', 'ingest', 'sql'],
  ui: ['views', 'uploads', 'shell', 'components', 'api'],
  store: [
    'backup',
    'records',
    'hnsw',
    'transfer',
    'tables',
    'documents',
    'catalog',
    'upkeep',
    'duckdb',
  ],
}

/**
 * Each library is known to one place (or, the log, to the roots); the rest sees our own interface for it. A place is a
 * folder of `src/`, one within it, or a file.
 */
export const ONLY_IMPORTERS: Readonly<Record<string, readonly string[]>> = {
  openai: ['models'],
  '@anthropic-ai/sdk': ['models'],
  '@modelcontextprotocol/sdk': ['mcp'],
  'onnxruntime-node': ['models'],
  '@duckdb/node-api': [
    'store/duckdb',
    'store/catalog',
    'store/documents',
    'store/transfer',
    'store/tables',
    'store/upkeep',
    'store/records',
    'store/hnsw',
    'store/backup',
    'reading/tables',
    'sources/files',
    'values',
  ],
  '@duckdb/node-bindings': ['store/duckdb/columnar'],
  flatbuffers: ['store/duckdb/columnar'],
  'drizzle-orm': ['store'],
  elysia: ['http'],
  '@elysiajs/jwt': ['http'],
  'js-tiktoken': ['http/openai'],
  turndown: ['reading'],
  '@mixmark-io/domino': ['reading'],
  linkedom: ['reading'],
  '@mozilla/readability': ['reading'],
  '@embedpdf/pdfium': ['reading/documents/pdf'],
  fflate: ['reading'],
  yauzl: ['reading'],
  htmlparser2: ['reading'],
  'postal-mime': ['reading/documents'],
  micromark: ['reading/documents', 'http/docs'],
  'micromark-extension-gfm-table': ['http/docs'],
  yaml: ['reading/documents'],
  pg: ['sources/postgres'],
  mysql2: ['sources/mysql'],
  ajv: ['agents/loop'],
  re2js: ['agents/loop'],
  'robots-parser': ['ingest'],
  'ipaddr.js': ['network'],
  'snowball-stemmers': ['analysis'],
  '@orama/stemmers': ['analysis'],
  croner: ['store/backup', 'setting-values.ts', 'runtime'],
  'cli-progress': ['cli/ingest'],
  chokidar: ['cli/ingest'],
  '@opentelemetry/api': ['telemetry'],
  '@opentelemetry/exporter-trace-otlp-http': ['telemetry'],
  '@opentelemetry/exporter-trace-otlp-proto': ['telemetry'],
  '@opentelemetry/resources': ['telemetry'],
  '@opentelemetry/sdk-trace-base': ['telemetry'],
  'prom-client': ['telemetry'],
  preact: ['ui'],
  'preact-iso': ['ui'],
  '@preact/signals': ['ui'],
  '@codemirror/autocomplete': ['ui'],
  '@codemirror/commands': ['ui'],
  '@codemirror/lang-json': ['ui'],
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

/** Imports from one folder of `src/` into another that the table above does not name. */
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

/** Nothing in `src/` imports code from outside it. */
function isAllowed(target: string, from: string, allowed: readonly string[]): boolean {
  if (isData(target)) return true
  if (!target.startsWith('src/')) return false
  const to = folderOf(target)
  return to === from || allowed.includes(to)
}

/** Numbered migrations, pages, assets: files without code of ours. */
function isData(target: string): boolean {
  return !/\.(ts|tsx|mjs|js)$/.test(target)
}

/**
 * What the page takes from the server's code as it runs, other than from `domain`: its records are types alone, so that
 * nothing of the server gets into the browser.
 */
export function serverCodeInPage(modules: readonly SourceModule[]): readonly string[] {
  return sourceModules(modules).flatMap((module) => {
    if (!module.path.startsWith('src/ui/')) return []
    return module.runtimeImports
      .filter((target) => target.startsWith('.'))
      .map((target) => posix.join(posix.dirname(module.path), target))
      .filter((target) => !isData(target) && !/^src\/(ui|domain)\//.test(target))
      .map((target) => `${module.path} imports ${target}`)
  })
}

/** Libraries imported by a place that is not theirs, and libraries that no rule knows. */
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

/** Run as a program, and used by scripts only. */
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

/** Imports against the order within a room, and folders that have no place in its order. */
export function risingImports(modules: readonly SourceModule[]): readonly string[] {
  const graph = importGraph(modules)
  return Object.entries(FOLDER_ORDER).flatMap(([room, order]) => {
    return [...graph].flatMap(([path, targets]) => {
      const from = folderIn(room, path)
      if (from === undefined || from === '') return []
      if (!order.includes(from)) return [`${path}: "${from}" has no place in ${room}`]
      return targets
        .filter((target) => {
          const reached = foldersReached(room, target, graph)
          return [...reached].some((folder) => order.indexOf(folder) < order.indexOf(from))
        })
        .map((target) => `${path} imports ${target}`)
    })
  })
}

/** The folder of a module, or for a file of the room itself all folders that it leads to. */
function foldersReached(
  room: string,
  path: string,
  graph: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const folder = folderIn(room, path)
  if (folder === undefined) return new Set()
  if (folder !== '') return new Set([folder])
  return new Set((graph.get(path) ?? []).flatMap((next) => [...foldersReached(room, next, graph)]))
}

/** `src/query/select/run.ts` → `select`, `src/query/run.ts` → nothing, undefined outside of the room. */
function folderIn(room: string, path: string): string | undefined {
  const [top, first, ...rest] = path.split('/')
  if (top !== 'src' || first !== room) return undefined
  return rest.length > 1 ? (rest[0] ?? '') : ''
}

/** What of a view is there for other views: the frame around those of one thing, and what an address says of a part of a map. */
const FOR_OTHER_VIEWS = /-frame\.tsx$|\/map-part\.ts$/

/** Views that import what lies within another. */
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

/** Each cycle once, as `a.ts -> b.ts -> a.ts`. Type imports count: they are dependencies too. */
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

/** Entries of threads that reach `src/store/`, by the way they reach it. */
export function threadsReachingStore(modules: readonly SourceModule[]): readonly string[] {
  const graph = importGraph(modules)
  const entries = [...graph.keys()].filter((path) => path.startsWith('src/workers/'))
  return entries.flatMap((entry) => {
    const way = wayTo(entry, (path) => path.startsWith('src/store/'), graph)
    return way === undefined ? [] : [way.join(' -> ')]
  })
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

/** `src/http/wire.ts` → `http`, `src/app.ts` → `app.ts`. */
function folderOf(path: string): string {
  return path.split('/')[1] ?? ''
}
