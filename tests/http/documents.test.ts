import { expect, test } from 'bun:test'
import { ERRORS } from '../../src/core/errors.ts'
import { send, testServer } from './server-fixture.ts'

interface OpenApi {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly securitySchemes: object
  }
}

interface Operation {
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly responses?: Readonly<Record<string, object>>
  readonly requestBody?: object
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
}

async function openApi(): Promise<OpenApi> {
  const { json } = await send(testServer().server, 'GET /openapi.json')
  // The tests below check every part that they use.
  return json as OpenApi
}

test('the OpenAPI document describes every route of the contract', async () => {
  const { openapi, paths, components } = await openApi()
  expect(openapi).toStartWith('3.1')
  const one = '/api/projects/{project_name}'
  expect(paths).toContainKeys([
    '/',
    '/api/backup',
    '/api/backups',
    '/api/catalog',
    '/api/config',
    '/api/databases',
    '/api/databases/status',
    '/api/databases/{database_name}',
    '/api/databases/{database_name}/check',
    '/api/databases/{database_name}/tables',
    '/api/databases/{database_name}/tables/{table_name}',
    '/api/files',
    '/api/files/{file_name}',
    '/api/files/{file_name}/content',
    '/api/jobs',
    '/api/jobs/{job_id}',
    '/api/jobs/{job_id}/cancel',
    '/api/jobs/{job_id}/events',
    '/api/jobs/{job_id}/resume',
    '/api/jobs/{job_id}/retry',
    '/api/login',
    '/api/logout',
    '/api/requests',
    '/api/requests/running',
    '/api/requests/{number}',
    '/api/settings',
    '/api/projects',
    one,
    `${one}/agents`,
    `${one}/agents/{agent_name}`,
    `${one}/agents/{agent_name}/completions`,
    `${one}/agents/{agent_name}/completions/stream`,
    `${one}/knowledge_bases`,
    `${one}/knowledge_bases/preview`,
    `${one}/knowledge_bases/{knowledge_base_name}`,
    `${one}/knowledge_bases/{knowledge_base_name}/chunks`,
    `${one}/knowledge_bases/{knowledge_base_name}/documents`,
    `${one}/knowledge_bases/{knowledge_base_name}/documents/{document_id}`,
    `${one}/knowledge_bases/{knowledge_base_name}/export`,
    `${one}/knowledge_bases/{knowledge_base_name}/import`,
    `${one}/knowledge_bases/{knowledge_base_name}/map`,
    `${one}/knowledge_bases/{knowledge_base_name}/map/chunks`,
    `${one}/knowledge_bases/{knowledge_base_name}/map/points`,
    `${one}/knowledge_bases/{knowledge_base_name}/map/values`,
    `${one}/knowledge_bases/{knowledge_base_name}/search`,
    `${one}/views`,
    `${one}/views/{view_name}`,
    '/api/sql/functions',
    '/api/sql/list_databases',
    '/api/sql/query',
    '/api/status',
    '/api/tree',
    '/api/tree/{database_name}',
    '/api/util/ping',
    '/api/util/readiness',
    '/docs',
    '/healthz',
  ])
  expect(components.securitySchemes).toHaveProperty('bearer')
  expect(components.schemas).toHaveProperty('Problem')
})

test('every route has a summary, a tag, its statuses and the shape of an error', async () => {
  const { paths } = await openApi()
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const where = `${method} ${path}`
      expect(operation.summary, where).toBeString()
      expect(operation.tags?.length, where).toBe(1)
      expect(Object.keys(operation.responses ?? {}).length, where).toBeGreaterThan(1)
      const failure = path.startsWith('/v1/') ? 'schemas/OpenAiFailure' : 'schemas/Problem'
      expect(JSON.stringify(operation.responses?.default), where).toContain(failure)
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const inPath = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? []
      expect(
        inPath.map(({ name }) => name as string | undefined),
        where,
      ).toEqual(names)
    }
  }
})

test('the schemas in the document are those that check the bodies', async () => {
  const { paths, components } = await openApi()
  const post = paths['/api/projects/{project_name}/knowledge_bases']?.post
  // It is named after its operation, so that generated clients have a type with that name.
  expect(JSON.stringify(post?.requestBody)).toContain('#/components/schemas/CreateKnowledgeBase"')
  const body = JSON.stringify(components.schemas.CreateKnowledgeBase)
  expect(body).toContain('"required":["knowledge_base"]')
  expect(body).toContain('"reranking_model"')
})

test('a whole number is a number in the document, and never text', async () => {
  const { components } = await openApi()
  const job = components.schemas.Job
  expect(job).toHaveProperty('properties.id', { type: 'integer' })
  expect(JSON.stringify(await openApi())).not.toContain('"format":"integer"')
})

test('the options of an upload are documented with its routes', async () => {
  const { paths } = await openApi()
  for (const operation of [paths['/api/files']?.post, paths['/api/files/{file_name}']?.put]) {
    for (const option of [
      'replace',
      'format',
      'encoding',
      'delimiter',
      'header',
      'all_text',
      'sheet',
    ]) {
      expect(JSON.stringify(operation)).toContain(`"${option}":{`)
    }
  }
})

test('every error code is at the place that `type` points to', async () => {
  const { text, headers } = await send(testServer().server, 'GET /docs')
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
  for (const code of Object.keys(ERRORS)) expect(text).toContain(`<tr id="${code}">`)
})

test('the page loads nothing from elsewhere, and its policy lets only its own files run', async () => {
  const { server } = testServer()
  const { text, headers } = await send(server, 'GET /')
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toContain('unsafe')
  expect(text).not.toMatch(/(src|href)="(https?:)?\/\//)
  expect(policy).toContain("script-src 'self'; style-src 'self';")
  expect(text).not.toMatch(/ (style|on\w+)="|<style|<script>/)
  const loaded = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path)
  expect(loaded.length).toBeGreaterThanOrEqual(3)
  for (const path of loaded) {
    const file = await send(server, `GET ${path}`)
    expect([file.status, file.headers.get('cache-control')]).toEqual([
      200,
      'public, max-age=31536000, immutable',
    ])
  }
})

test('an address of a view is answered with the page, one of nothing is not', async () => {
  const { server } = testServer()
  const page = (await send(server, 'GET /')).text
  expect((await send(server, 'GET /projects/p/knowledge_bases/%3Cb%3E/search')).text).toBe(page)
  expect((await send(server, 'GET /assets/nothing.js')).status).toBe(404)
  expect((await send(server, 'GET /nothing')).status).toBe(404)
})

test('bodies that are files say of which types they are', async () => {
  const { paths } = await openApi()
  const one = '/api/projects/{project_name}/knowledge_bases/{knowledge_base_name}'
  for (const [method, path] of [
    ['put', '/api/files/{file_name}'],
    ['post', '/api/files'],
    ['post', `${one}/files`],
    ['post', `${one}/import`],
  ] as const) {
    expect(JSON.stringify(paths[path]?.[method]?.requestBody)).toContain('multipart/form-data')
  }
})
