/** The projects with what has a name in them: the navigation, the home view and pickers show it. */
import { signal } from '@preact/signals'
import type { Agent, KnowledgeBase, Project } from './records.ts'
import { ApiError, path, request } from './request.ts'

export interface ProjectContents {
  readonly name: string
  readonly knowledgeBases: readonly KnowledgeBase[]
  readonly agents: readonly Agent[]
}

/** Undefined until they were read for the first time. */
export const projects = signal<readonly ProjectContents[] | undefined>(undefined)

/** The answers to several questions may come in another order: an older one does not replace a newer one. */
const turns = { asked: 0, shown: 0 }

/** Reads them again, after something was created, renamed or deleted. @throws ApiError */
export async function refreshCatalog(abort?: AbortSignal): Promise<void> {
  turns.asked += 1
  const turn = turns.asked
  const init = { signal: abort }
  const named = await request<readonly Project[]>('/api/projects', init)
  const contents = await Promise.all(
    named.map(async ({ name }) => {
      const [knowledgeBases, agents] = await Promise.all([
        orNone(
          request<readonly KnowledgeBase[]>(path`/api/projects/${name}/knowledge_bases`, init),
        ),
        orNone(request<readonly Agent[]>(path`/api/projects/${name}/agents`, init)),
      ])
      return { name, knowledgeBases, agents }
    }),
  )
  if (turn < turns.shown) return
  turns.shown = turn
  projects.value = contents.sort(
    (a, b) => Number(b.name === 'mindsdb') - Number(a.name === 'mindsdb'),
  )
}

/** A project may have been deleted since its name was read. */
async function orNone<T>(list: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await list
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}

/** @throws ApiError */
export async function createProject(name: string): Promise<void> {
  await request('/api/projects', { method: 'POST', json: { project: { name } } })
  await refreshCatalog()
}

/** With everything in it. @throws ApiError */
export async function deleteProject(name: string): Promise<void> {
  await request(path`/api/projects/${name}`, { method: 'DELETE' })
  await refreshCatalog()
}
