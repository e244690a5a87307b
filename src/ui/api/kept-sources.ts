/** What knowledge bases are kept in step with. */
import type { Job, Source } from './records.ts'
import { path, request } from './request.ts'

export interface SourceDefinition {
  readonly name: string
  readonly kind: Source['kind']
  readonly path?: string
  readonly url?: string
  readonly query?: string
  readonly table?: string
  readonly schedule?: string
}

const inSources = (project: string, name: string) =>
  path`/api/projects/${project}/knowledge_bases/${name}/sources`

/** @throws ApiError */
export function listSources(
  project: string,
  name: string,
  signal?: AbortSignal,
): Promise<readonly Source[]> {
  return request(inSources(project, name), { signal })
}

/** @throws ApiError */
export function addSource(
  project: string,
  name: string,
  source: SourceDefinition,
): Promise<Source> {
  return request(inSources(project, name), { method: 'POST', json: { source } })
}

/** @throws ApiError */
export function runSource({ project, knowledge_base: name, id }: Source): Promise<Job> {
  return request(`${inSources(project, name)}/${id}/run`, { method: 'POST' })
}

/** Its documents stay. @throws ApiError */
export function removeSource({ project, knowledge_base: name, id }: Source): Promise<void> {
  return request(`${inSources(project, name)}/${id}`, { method: 'DELETE' })
}
