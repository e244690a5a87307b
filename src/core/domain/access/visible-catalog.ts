import type { Agent } from '../agents/agent.ts'
import { FILES_DATABASE, fullName, nameKey, type View } from '../names.ts'
import type { CatalogSnapshot } from './catalog-snapshot.ts'
import { type Rights, sees } from './principal.ts'

const VIEWS_MAX = 64

/** Returns the relations in an SQL text, in lower case. Throws if it cannot be parsed. */
type RelationsNamed = (
  sql: string,
) => readonly { readonly database: string | null; readonly name: string }[]

/** Names they may not use are left out, also inside definitions. Each is built once. */
export class VisibleCatalogs {
  readonly #views = new WeakMap<CatalogSnapshot, Map<string, CatalogSnapshot>>()
  readonly #relationsNamed: RelationsNamed

  constructor(relationsNamed: RelationsNamed) {
    this.#relationsNamed = relationsNamed
  }

  /** @param rights null if the caller sees everything */
  of(snapshot: CatalogSnapshot, rights: Rights | null): CatalogSnapshot {
    if (rights === null) return snapshot
    const key = JSON.stringify(rights)
    const views = this.#views.get(snapshot) ?? new Map<string, CatalogSnapshot>()
    if (views.size === 0) this.#views.set(snapshot, views)
    const known = views.get(key)
    if (known !== undefined) return known
    if (views.size >= VIEWS_MAX) views.clear()
    const view = this.#visible(snapshot, { rights, key })
    views.set(key, view)
    return view
  }

  /** Whether the statements mention no hidden name, not even inside a string literal. */
  isOpen(sql: string, snapshot: CatalogSnapshot, rights: Rights): boolean {
    if (mentionsHidden(sql, snapshot, rights)) return false
    const named = this.#named(sql)
    return named?.every(({ database }) => database === null || sees(rights, database)) === true
  }

  /** Returns null if the text cannot be parsed. */
  #named(text: string): ReturnType<RelationsNamed> | null {
    try {
      return this.#relationsNamed(text)
    } catch {
      return null
    }
  }

  #visible(
    snapshot: CatalogSnapshot,
    limits: NonNullable<CatalogSnapshot['limits']>,
  ): CatalogSnapshot {
    const { rights } = limits
    if (rights.namespaces === null) return { ...snapshot, limits }
    const isNamed = ({ name }: { readonly name: string }) => sees(rights, name)
    const isInside = ({ projectName }: { readonly projectName: string }) => {
      return sees(rights, projectName)
    }
    return {
      ...snapshot,
      limits,
      projects: snapshot.projects.filter(isNamed),
      knowledgeBases: snapshot.knowledgeBases.filter(isInside),
      agents: snapshot.agents.filter(isInside).map((agent) => visibleAgent(agent, rights)),
      views: this.#visibleViews(snapshot.views.filter(isInside), rights),
      tables: snapshot.tables.filter(isInside),
      files: sees(rights, FILES_DATABASE) ? snapshot.files : [],
      dataSources: snapshot.dataSources.filter(isNamed),
    }
  }

  /** A view over a hidden view would expose that view's columns, so it is hidden too. */
  #visibleViews(views: readonly View[], rights: Rights): readonly View[] {
    const read = views.map((view) => {
      const named = this.#named(view.sql)?.map(({ database, name }) => {
        return { database: database ?? view.database, name }
      })
      const isOpen = named?.every(({ database }) => sees(rights, database)) === true
      const sources = named?.map(({ database, name }) => nameKey(`${database}.${name}`)) ?? []
      const shown = isOpen ? view : { ...view, sql: HIDDEN_VIEW }
      return { key: nameKey(fullName(view)), sources, view: shown }
    })
    const hidden = new Set(read.flatMap(({ key, view }) => (isHidden(view) ? [key] : [])))
    for (let size = -1; size < hidden.size; ) {
      size = hidden.size
      for (const { key, sources } of read) {
        if (sources.some((source) => hidden.has(source))) hidden.add(key)
      }
    }
    return read.map(({ key, view }) => (hidden.has(key) ? { ...view, columns: [] } : view))
  }
}

/** Whether the text contains all words of any hidden name. */
export function mentionsHidden(text: string, snapshot: CatalogSnapshot, rights: Rights): boolean {
  const words = new Set(wordsOf(text))
  return [...snapshot.projects, ...snapshot.dataSources].some(({ name }) => {
    return !sees(rights, name) && wordsOf(name).every((word) => words.has(word))
  })
}

function wordsOf(text: string): readonly string[] {
  return nameKey(text).match(/[\p{L}\p{N}_]+/gu) ?? []
}

/** Replaces the text of a view that names something the reader may not see. */
const HIDDEN_VIEW = '-- Hidden: this view reads other projects or databases'

export function isHidden({ sql }: Pick<View, 'sql'>): boolean {
  return sql === HIDDEN_VIEW
}

/** Questions still use all of the agent's data, see `AgentData.isPart`. */
function visibleAgent(agent: Agent, rights: Rights): Agent {
  const { data } = agent
  if (data === null) return agent
  // An unqualified name belongs to the agent's own project.
  const isNamed = (name: string) => !name.includes('.') || sees(rights, name.split('.')[0] ?? '')
  const { knowledgeBases, tables } = data
  const seen = { knowledgeBases: knowledgeBases.filter(isNamed), tables: tables.filter(isNamed) }
  const isPart =
    seen.knowledgeBases.length < knowledgeBases.length || seen.tables.length < tables.length
  return isPart ? { ...agent, data: { ...data, ...seen, isPart } } : agent
}
