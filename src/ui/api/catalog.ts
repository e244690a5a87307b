/** All projects and their named contents, for the navigation, the home view and pickers. */
import { signal } from '@preact/signals'
import type { Wire } from '../../api/http/request/schema-words.ts'
import type { CATALOG } from '../../api/http/routes/project-routes.ts'
import { DEFAULT_PROJECT } from '../../core/domain/names.ts'
import type { Agent, KnowledgeBase, Schedule } from './records.ts'
import { asError, path, request } from './request.ts'

export interface ProjectContents {
  readonly name: string
  readonly knowledgeBases: readonly KnowledgeBase[]
  readonly agents: readonly Agent[]
  readonly views: Contents['views']
  readonly schedules: readonly Schedule[]
}

type Contents = Wire<typeof CATALOG>[number]

/** The sample's knowledge base. By default, users' own files are never added to it. */
export const SAMPLE_NAME = 'encyclopedia'

/** Undefined until first read. */
export const projects = signal<readonly ProjectContents[] | undefined>(undefined)

/** Why the last read failed; undefined if it did not. */
export const catalogFailure = signal<Error | undefined>(undefined)

/** Answers may arrive out of order; an older one must not replace a newer one. */
const turns = { asked: 0, shown: 0 }

/** The last answer. If it is unchanged, nothing is rendered again. */
const shown = { text: '' }

/** Reads the projects again after something was created, renamed or deleted. @throws ApiError */
export async function refreshCatalog(abort?: AbortSignal): Promise<void> {
  turns.asked += 1
  const turn = turns.asked
  const contents = await request<readonly Contents[]>('/api/catalog', { signal: abort }).catch(
    (error: unknown) => {
      catalogFailure.value = asError(error)
      throw error
    },
  )
  catalogFailure.value = undefined
  if (turn < turns.shown) return
  turns.shown = turn
  const text = JSON.stringify(contents)
  if (text === shown.text && projects.value !== undefined) return
  shown.text = text
  projects.value = contents
    .map(({ project, knowledge_bases: knowledgeBases, agents, views, jobs }) => {
      return { name: project.name, knowledgeBases, agents, views, schedules: jobs }
    })
    .sort((a, b) => Number(b.name === DEFAULT_PROJECT) - Number(a.name === DEFAULT_PROJECT))
}

/** @throws ApiError */
export async function createProject(name: string): Promise<void> {
  await request('/api/projects', { method: 'POST', json: { project: { name } } })
  await refreshCatalog()
}

/** Deletes a project with everything in it. @throws ApiError */
export async function deleteProject(name: string): Promise<void> {
  await request(path`/api/projects/${name}`, { method: 'DELETE' })
  await refreshCatalog()
}
