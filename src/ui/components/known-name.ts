/** Finds knowledge bases and agents by name in the catalog. */
import { useEffect, useState } from 'preact/hooks'
import { type ProjectContents, projects, refreshCatalog } from '../api/catalog.ts'
import type { Agent } from '../api/records.ts'
import { shownIn, shownProject } from './numbers.ts'

interface NamedPlace {
  readonly project: string
  readonly name: string
}

type Kind = 'knowledgeBases' | 'agents'

export function knownOf<K extends Kind>(
  kind: K,
  { project, name }: NamedPlace,
): ProjectContents[K][number] | undefined {
  const known = projects.value?.find((one) => isSame(one.name, project))
  const all: readonly ProjectContents[K][number][] | undefined = known?.[kind]
  return all?.find((one) => isSame(one.name, name))
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** Reloads the catalog first, because another client may have created it. */
export function useIsMissing(kind: Kind, place: NamedPlace): boolean {
  const key = JSON.stringify([kind, place.project, place.name])
  const [missing, setMissing] = useState<string>()
  const isUnknown = projects.value !== undefined && knownOf(kind, place) === undefined
  useEffect(() => {
    if (!isUnknown) return
    const abort = new AbortController()
    refreshCatalog(abort.signal).then(
      () => {
        if (!abort.signal.aborted) setMissing(key)
      },
      // The view shows the failure itself.
      () => {},
    )
    return () => abort.abort(new DOMException('The view went', 'AbortError'))
  }, [key, isUnknown])
  return isUnknown && missing === key
}

const DATA_NAMED_MAX = 4

/** What an agent reads, such as `reads teas, shop.orders and 3 more`. */
export function wordsOfData({ data }: Agent, project: string): string {
  const { knowledge_bases: knowledgeBases = [], tables = [], mcp = [] } = data
  const all = [...knowledgeBases, ...tables, ...mcp.map(({ name }) => name)]
  if (all.length === 0) return 'reads nothing yet'
  const named = all.slice(0, DATA_NAMED_MAX).map((one) => {
    return one.startsWith(`${project}.`) ? one.slice(project.length + 1) : one
  })
  const rest = all.length - named.length
  return `reads ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** The projects as field options, including the chosen one if it is unknown. */
export function projectChoices(chosen: string): readonly (readonly [string, string])[] {
  const names = new Set([chosen, ...(projects.value ?? []).map(({ name }) => name)])
  return Array.from(names, (name) => [name, shownProject(name)] as const)
}

/** The knowledge bases as field options, and the knowledge base for each option. */
export function knowledgeBaseChoices() {
  const places = (projects.value ?? []).flatMap(({ name: project, knowledgeBases }) => {
    return knowledgeBases.map(({ name }) => ({
      project,
      name,
      key: JSON.stringify([project, name]),
    }))
  })
  const options = places.map(({ project, name, key }) => [key, shownIn(project, name)] as const)
  return { places, options }
}
