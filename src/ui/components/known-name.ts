/** What has a name in a project, and whether nothing has it. */
import { useEffect, useState } from 'preact/hooks'
import { type ProjectContents, projects, refreshCatalog } from '../api/catalog.ts'

interface NamedPlace {
  readonly project: string
  readonly name: string
}

type Kind = 'knowledgeBases' | 'agents'

/** The one of this name, as the catalog has it. */
export function knownOf<K extends Kind>(
  kind: K,
  { project, name }: NamedPlace,
): ProjectContents[K][number] | undefined {
  const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
  const all: readonly ProjectContents[K][number][] | undefined = projects.value?.find((one) =>
    isSame(one.name, project),
  )?.[kind]
  return all?.find((one) => isSame(one.name, name))
}

/** Whether there is none: only after the catalog was read once more, since it may just have been made elsewhere. */
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
      // The view says itself what cannot be reached.
      () => {},
    )
    return () => abort.abort(new DOMException('The view went', 'AbortError'))
  }, [key, isUnknown])
  return isUnknown && missing === key
}
