import type { Agent } from '../domain/agent.ts'
import type { CatalogSnapshot } from '../domain/catalog-snapshot.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { matchesGlob } from './glob.ts'

/** The data source that uploaded files stand in. */
const FILES = 'files'

/** What an agent's `data` names at this moment. */
export interface ResolvedData {
  readonly knowledgeBases: readonly KnowledgeBase[]
  /** `files.<name>`, `<project>.<table or view>`. */
  readonly tables: readonly string[]
  /** One sentence for each name that stands for nothing. */
  readonly warnings: readonly string[]
}

/**
 * Only what `data` names: an agent without it may read nothing. Patterns are looked up anew for
 * each question.
 */
export function resolvedData(agent: Agent, snapshot: CatalogSnapshot): ResolvedData {
  const { knowledgeBases: kbPatterns, tables: tablePatterns } = agent.data ?? NO_DATA
  const kbs = eachFound(kbPatterns, (pattern) => {
    const [project, name] = parts(pattern, agent.projectName)
    return snapshot.knowledgeBases.filter((kb) => {
      return matchesGlob(project, kb.projectName) && matchesGlob(name, kb.name)
    })
  })
  const tables = eachFound(tablePatterns, (pattern) => {
    const [source, name] = parts(pattern, '')
    return tablesOf(snapshot).flatMap((table) => {
      const isMeant = matchesGlob(source, table.source) && matchesGlob(name, table.name)
      return isMeant ? [`${table.source}.${table.name}`] : []
    })
  })
  const warnings = [
    ...kbs.missing.map((pattern) => `No knowledge base found: ${pattern}`),
    ...tables.missing.map((pattern) => `No table found: ${pattern}`),
    ...(agent.data === null ? [`Agent ${agent.name} has no data: it may read nothing`] : []),
  ]
  return { knowledgeBases: kbs.found, tables: tables.found, warnings }
}

/** Uploaded files, and the tables and views of projects. */
function tablesOf({ files, tables, views }: CatalogSnapshot) {
  return [
    ...files.map(({ name }) => ({ source: FILES, name })),
    ...[...tables, ...views].map(({ projectName, name }) => ({ source: projectName, name })),
  ]
}

const NO_DATA = { knowledgeBases: [], tables: [] }

/** A name as a person writes it and as a model is told it: `project.kb`. */
export function fullName(kb: KnowledgeBase): string {
  return `${kb.projectName}.${kb.name}`
}

/** `project.kb`; a name alone belongs to the given project. Names hold no dot. */
function parts(pattern: string, project: string): readonly [string, string] {
  const [first = '', ...rest] = pattern.split('.')
  return rest.length === 0 ? [project, first] : [first, rest.join('.')]
}

function eachFound<T>(patterns: readonly string[], find: (pattern: string) => readonly T[]) {
  const found = new Set<T>()
  const missing: string[] = []
  for (const pattern of patterns) {
    const matches = find(pattern)
    if (matches.length === 0) missing.push(pattern)
    for (const match of matches) found.add(match)
  }
  return { found: [...found], missing }
}
