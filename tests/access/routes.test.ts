/**
 * Tries every documented route with keys that may not use it. A new route must be listed here with
 * the scope it needs.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeKey } from '../support/access-keys.ts'
import type { Answer, TestApp } from '../support/test-app.ts'
import { SECRET, twoProjects } from './two-projects.ts'

const ROUTES = `
nothing GET /
nothing POST /api/login
nothing GET /api/status
nothing GET /api/util/ping
nothing GET /docs
nothing GET /docs/api
nothing GET /healthz
login GET /api/config
login POST /api/logout
login POST /api/password
login POST /api/sql/query
login GET /api/requests/running
login DELETE /api/requests/{number}
login GET /api/util/readiness
login POST /mcp
login DELETE /mcp
login POST /v1/chat/completions
login GET /v1/models
login GET /v1/models/{model}
login POST /v1/responses
read GET /api/catalog
read GET /api/databases
read GET /api/databases/{database_name}
read GET /api/databases/{database_name}/tables
read GET /api/databases/{database_name}/tables/{table_name}
read GET /api/files
read GET /api/files/{file_name}
read GET /api/files/{file_name}/content
read GET /api/jobs
read GET /api/jobs/{job_id}
read GET /api/jobs/{job_id}/events
read GET /api/projects
read GET /api/projects/{project_name}
read GET /api/projects/{project_name}/agents
read GET /api/projects/{project_name}/agents/{agent_name}
read GET /api/projects/{project_name}/jobs
read GET /api/projects/{project_name}/jobs/{job_name}
read GET /api/projects/{project_name}/jobs/{job_name}/history
read GET /api/projects/{project_name}/knowledge_bases
read POST /api/projects/{project_name}/knowledge_bases/preview
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/chunks
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/documents
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/documents/{document_id}
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/export
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/map
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/map/chunks
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/map/points
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/map/values
read POST /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/search
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/sources
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/sources/{source_id}
read GET /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/sources/{source_id}/runs
read GET /api/projects/{project_name}/views
read GET /api/projects/{project_name}/views/{view_name}
read GET /api/sql/functions
read GET /api/sql/list_databases
read GET /api/sql/query
read GET /api/traces
read GET /api/traces/{trace_id}
read GET /api/tree
read GET /api/usage
read GET /api/tree/{database_name}
read POST /v1/embeddings
read GET /v1/files
read GET /v1/files/{file_id}
read GET /v1/files/{file_id}/content
read GET /v1/vector_stores
read GET /v1/vector_stores/{vector_store_id}
read GET /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}
read GET /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/files
read GET /v1/vector_stores/{vector_store_id}/files
read GET /v1/vector_stores/{vector_store_id}/files/{file_id}
read GET /v1/vector_stores/{vector_store_id}/files/{file_id}/content
read POST /v1/vector_stores/{vector_store_id}/search
ask GET /api/agents/runs
ask DELETE /api/agents/runs/{trace_id}
ask POST /api/projects/{project_name}/agents/{agent_name}/completions
ask POST /api/projects/{project_name}/agents/{agent_name}/completions/stream
ask GET /api/projects/{project_name}/agents/{agent_name}/conversations
ask GET /api/projects/{project_name}/agents/{agent_name}/conversations/{conversation_id}
ask GET /api/projects/{project_name}/agents/{agent_name}/conversations/{conversation_id}/stream
ask DELETE /api/projects/{project_name}/agents/{agent_name}/conversations/{conversation_id}
ask DELETE /api/projects/{project_name}/agents/{agent_name}/conversations/{conversation_id}/turns/{trace_id}
ask POST /api/traces/{trace_id}/feedback
ask GET /v1/responses/{response_id}
write POST /api/files
write PUT /api/files/{file_name}
write DELETE /api/files/{file_name}
write DELETE /api/jobs
write DELETE /api/jobs/{job_id}
write POST /api/jobs/{job_id}/cancel
write POST /api/jobs/{job_id}/resume
write POST /api/jobs/{job_id}/retry
write POST /api/projects
write DELETE /api/projects/{project_name}
write POST /api/projects/{project_name}/agents
write POST /api/agents/probe
write PUT /api/projects/{project_name}/agents/{agent_name}
write DELETE /api/projects/{project_name}/agents/{agent_name}
write POST /api/projects/{project_name}/agents/{agent_name}/probe
write POST /api/projects/{project_name}/knowledge_bases
write PUT /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}
write DELETE /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}
write DELETE /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/documents
write PUT /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/documents/{document_id}
write PATCH /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/documents/{document_id}
write DELETE /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/documents/{document_id}
write POST /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/files
write POST /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/import
write POST /api/projects/{project_name}/views
write PUT /api/projects/{project_name}/views/{view_name}
write DELETE /api/projects/{project_name}/views/{view_name}
write POST /v1/files
write DELETE /v1/files/{file_id}
write POST /v1/vector_stores
write POST /v1/vector_stores/{vector_store_id}
write DELETE /v1/vector_stores/{vector_store_id}
write POST /v1/vector_stores/{vector_store_id}/file_batches
write POST /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/cancel
write POST /v1/vector_stores/{vector_store_id}/files
write POST /v1/vector_stores/{vector_store_id}/files/{file_id}
write DELETE /v1/vector_stores/{vector_store_id}/files/{file_id}
admin GET /api/audit
admin POST /api/backup
admin GET /api/backups
admin POST /api/databases
admin POST /api/databases/status
admin PUT /api/databases/{database_name}
admin PATCH /api/databases/{database_name}
admin DELETE /api/databases/{database_name}
admin POST /api/databases/{database_name}/check
admin GET /api/keys
admin POST /api/keys
admin DELETE /api/keys/{key_id}
admin POST /api/projects/{project_name}/jobs
admin DELETE /api/projects/{project_name}/jobs/{job_name}
admin POST /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/sources
admin PATCH /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/sources/{source_id}
admin DELETE /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/sources/{source_id}
admin POST /api/projects/{project_name}/knowledge_bases/{knowledge_base_name}/sources/{source_id}/run
admin DELETE /api/traces
admin DELETE /api/traces/{trace_id}
admin GET /api/requests
admin GET /api/settings
admin GET /api/users
admin POST /api/users
admin PATCH /api/users/{user_id}
admin DELETE /api/users/{user_id}
admin GET /metrics
admin DELETE /v1/responses/{response_id}
`

interface Route {
  readonly need: string
  readonly method: string
  readonly path: string
}

const routes: readonly Route[] = ROUTES.trim()
  .split('\n')
  .map((line) => {
    const [need = '', method = '', path = ''] = line.split(' ')
    return { need, method, path }
  })

let t: TestApp
const keys: Record<string, HeadersInit> = {}
beforeAll(async () => {
  t = await twoProjects()
  for (const scope of ['read', 'write', 'ask'] as const) {
    keys[scope] = (await makeKey(t, [scope])).headers
  }
  const projects = { projects: ['open'] }
  keys.limited = (await makeKey(t, ['read', 'write', 'ask'], projects)).headers
  keys.limitedAdmin = (await makeKey(t, ['admin'], projects)).headers
})
afterAll(() => t.close())

/** @param word a part of all names in one of the projects */
function addressOf({ path }: Route, project: string, word: string): string {
  const values: Readonly<Record<string, string>> = {
    project_name: project,
    database_name: project,
    knowledge_base_name: `${word}_kb`,
    agent_name: `${word}_agent`,
    view_name: `${word}_view`,
    table_name: `${word}_table`,
    job_name: `${word}_job`,
    file_name: `${SECRET}.csv`,
    document_id: `${word}-1`,
    model: `${project}.${word}_agent`,
  }
  return path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '999999')
}

/** The body does not matter, because it is not read if the request is refused. */
function sent({ method, path }: Route, address: string, headers: HeadersInit): Promise<Answer> {
  const hasBody = method !== 'GET' && method !== 'DELETE' && !path.endsWith('/probe')
  return t.send(method, address, hasBody ? {} : undefined, headers)
}

const isForbidden = ({ status, text }: Answer) => status === 403 && text.includes('forbidden')

test('every documented route is listed with the scope that it needs', async () => {
  const { body } = await t.send('GET', '/openapi.json')
  type Operation = { readonly security: readonly { readonly bearer?: readonly string[] }[] }
  const { paths } = body as { paths: Record<string, Record<string, Operation>> }
  const found = Object.entries(paths).flatMap(([path, operations]) => {
    return Object.entries(operations).map(([method, { security }]) => {
      const [first] = security
      const need = first === undefined ? 'nothing' : (first.bearer?.[0] ?? 'login')
      return `${need} ${method.toUpperCase()} ${path}`
    })
  })
  expect(found.toSorted()).toEqual(ROUTES.trim().split('\n').toSorted())
})

test('a key without the scope of a route is refused', async () => {
  for (const route of routes) {
    if (route.need === 'nothing' || route.need === 'login') continue
    for (const scope of ['read', 'write', 'ask']) {
      if (scope === route.need) continue
      const answer = await sent(route, addressOf(route, 'open', 'kettle'), keys[scope] ?? {})
      expect([route, scope, answer.status, isForbidden(answer)]).toEqual([route, scope, 403, true])
      expect(answer.text).toContain(`scope \\"${route.need}\\"`)
    }
  }
})

test('a limited key is refused on every path of another project, whether that exists or not', async () => {
  for (const route of routes) {
    if (!/project_name|database_name|file_name/.test(route.path)) continue
    for (const key of ['limited', 'limitedAdmin']) {
      const answers: string[] = []
      for (const project of [SECRET, 'neverwas']) {
        const answer = await sent(route, addressOf(route, project, SECRET), keys[key] ?? {})
        expect([route, answer.status]).toEqual([route, 403])
        answers.push(answer.text.replaceAll(project, 'NAME').replace(/"timestamp":[^,}]*/, ''))
      }
      expect(answers[0]).toBe(answers[1] ?? '')
    }
  }
})

test('server-wide routes are refused to an admin of one project', async () => {
  for (const route of routes) {
    if (route.need !== 'admin' || /^\/api\/(keys|users)/.test(route.path)) continue
    const answer = await sent(route, addressOf(route, 'open', 'kettle'), keys.limitedAdmin ?? {})
    expect([route, answer.status]).toEqual([route, 403])
  }
})

test('no list shows a limited key anything of another project', async () => {
  for (const key of ['limited', 'limitedAdmin']) {
    for (const route of routes) {
      if (route.method !== 'GET' || /\{(job_id|trace_id|file_name)\}/.test(route.path)) continue
      if (route.path === '/mcp') continue
      const { text } = await sent(route, addressOf(route, 'open', 'kettle'), keys[key] ?? {})
      expect([route, text.includes(SECRET)]).toEqual([route, false])
    }
    const paths = ['views/leak', 'views/second_leak', 'agents/both', 'jobs/over_0', 'jobs/if_over']
    const { items } = (await t.send('GET', '/api/jobs', undefined, keys[key])).body as {
      items: { id: number }[]
    }
    for (const path of [
      ...paths.map((path) => `/api/projects/open/${path}`),
      ...items.map(({ id }) => `/api/jobs/${id}`),
    ]) {
      const { status, text } = await t.send('GET', path, undefined, keys[key])
      expect([path, status, text.includes(SECRET)]).toEqual([path, 200, false])
    }
  }
})

test('jobs, traces and counts of another project are hidden', async () => {
  const { items } = (await t.send('GET', '/api/jobs')).body as {
    items: { id: number; project: string }[]
  }
  const jobs = items.filter(({ project }) => project === SECRET).map(({ id }) => id)
  const listed = (await t.send('GET', '/api/traces')).body as {
    items: { trace_id: string; project: string }[]
  }
  const traces = listed.items.filter(({ project }) => project === SECRET)
  expect([jobs.length > 0, traces.length > 0]).toEqual([true, true])
  const paths = [
    ...jobs.flatMap((id) => [
      ['GET', `/api/jobs/${id}`],
      ['GET', `/api/jobs/${id}/events`],
      ['POST', `/api/jobs/${id}/cancel`],
      ['POST', `/api/jobs/${id}/retry`],
      ['POST', `/api/jobs/${id}/resume`],
      ['DELETE', `/api/jobs/${id}`],
    ]),
    ...traces.flatMap(({ trace_id: id }) => [
      ['GET', `/api/traces/${id}`],
      ['POST', `/api/traces/${id}/feedback`],
    ]),
  ]
  for (const [method = '', path = ''] of paths) {
    const body = path.endsWith('feedback') ? { rating: 1 } : undefined
    const { status } = await t.send(method, path, body, keys.limited)
    expect([method, path, status]).toEqual([method, path, 404])
  }
  const all = (await t.send('GET', '/api/jobs', undefined, keys.limited)).body as { total: number }
  expect(all.total).toBe(items.length - jobs.length)
})

test('a key that may only read sees no traces, because they show what agents read', async () => {
  const { status } = await t.send('GET', '/api/traces', undefined, keys.read)
  expect(status).toBe(403)
})

test('the state of the server is for admins', async () => {
  const limited = await t.send('GET', '/api/status', undefined, keys.read)
  expect(limited.body).not.toHaveProperty('memory')
  expect((await t.send('GET', '/api/status')).body).toHaveProperty('memory')
})
