import { describe, expect, test } from 'bun:test'
import { AppError } from '../../src/core/errors.ts'
import { type Sent, send, testServer } from './server-fixture.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const AGENTS = '/api/projects/mindsdb/agents'

interface Case {
  readonly line: string
  readonly sent?: Sent
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail?: string
}

const raw = (body: string, type = 'application/json'): Sent => ({
  body,
  headers: { 'content-type': type },
})

const CASES: readonly Case[] = [
  {
    line: 'GET /api/nothing',
    status: 404,
    code: 'not_found',
    title: 'Not found',
    detail: 'The endpoint you are trying to access does not exist on the server.',
  },
  { line: 'POST /cloud/login', status: 404, code: 'not_found', title: 'Not found' },
  { line: 'GET /cloud/login', status: 404, code: 'not_found', title: 'Not found' },
  {
    line: 'PATCH /api/sql/query',
    status: 405,
    code: 'method_not_allowed',
    title: 'Method Not Allowed',
  },
  {
    line: `PATCH ${KBS}/teas/`,
    status: 405,
    code: 'method_not_allowed',
    title: 'Method Not Allowed',
  },
  {
    line: `POST ${KBS}`,
    sent: { json: {} },
    status: 400,
    code: 'missing_parameter',
    title: 'Missing parameter',
    detail: 'Must provide "knowledge_base" parameter in POST body',
  },
  {
    line: `POST ${KBS}`,
    sent: { json: { knowledge_base: null } },
    status: 400,
    code: 'missing_parameter',
    title: 'Missing parameter',
  },
  {
    line: `POST ${KBS}`,
    sent: { json: { knowledge_base: {} } },
    status: 400,
    code: 'missing_parameter',
    title: 'Missing parameter',
    detail: 'Must provide "name" field in "knowledge_base"',
  },
  {
    line: `POST ${KBS}`,
    sent: { json: { knowledge_base: { name: 'x', storage: { database: 'd' } } } },
    status: 400,
    code: 'missing_parameter',
    title: 'Missing parameter',
    detail: 'Must provide "database" and "table" field in "storage" param',
  },
  {
    line: `POST ${KBS}`,
    sent: { json: { knowledge_base: { name: 12 } } },
    status: 400,
    code: 'invalid_request',
    title: 'Wrong arguments',
    detail: 'Field "knowledge_base.name" must be a string, not the number 12',
  },
  {
    line: `POST ${KBS}`,
    sent: { json: { knowledge_base: { name: 'x', colour: 'red' } } },
    status: 400,
    code: 'unknown_field',
    title: 'Invalid preprocessing configuration',
    detail: "Problem with knowledge base parameters: Parameter 'colour' is not allowed",
  },
  {
    line: `POST ${KBS}`,
    sent: { json: { knowledge_base: { name: 'x', content_column: 'text' } } },
    status: 400,
    code: 'unknown_field',
    title: 'Invalid preprocessing configuration',
    detail:
      "Problem with knowledge base parameters: Parameter 'content_column' is not allowed. " +
      'Did you mean "content_columns"?',
  },
  {
    line: `POST ${KBS}`,
    sent: { json: { knowledge_base: { name: 'x' }, colour: 'red' } },
    status: 400,
    code: 'unknown_field',
    title: 'Wrong arguments',
    detail: 'Unknown field "colour"; expected "knowledge_base"',
  },
  {
    line: `POST ${KBS}`,
    sent: { json: { knowledge_base: { name: 'x', content_columns: ['a', 1] } } },
    status: 400,
    code: 'invalid_request',
    title: 'Wrong arguments',
    detail: 'Field "knowledge_base.content_columns[1]" must be a string, not the number 1',
  },
  {
    line: 'POST /api/projects/nope/knowledge_bases',
    sent: { json: { knowledge_base: { name: 'x' } } },
    status: 404,
    code: 'project_not_found',
    title: 'Project not found',
    detail: 'Project with name nope does not exist',
  },
  {
    line: `GET ${KBS}/nope`,
    status: 404,
    code: 'knowledge_base_not_found',
    title: 'Knowledge Base not found',
    detail: 'Knowledge Base with name nope does not exist',
  },
  {
    line: `PUT ${KBS}/nope`,
    sent: { json: { knowledge_base: {} } },
    status: 404,
    code: 'knowledge_base_not_found',
    title: 'Knowledge Base not found',
  },
  {
    line: `DELETE ${KBS}/nope`,
    status: 404,
    code: 'knowledge_base_not_found',
    title: 'Knowledge Base not found',
  },
  {
    line: `POST ${AGENTS}`,
    sent: { json: {} },
    status: 400,
    code: 'missing_parameter',
    title: 'Missing parameter',
    detail: 'Must provide "agent" parameter in POST body',
  },
  {
    line: `POST ${AGENTS}`,
    sent: { json: { agent: {} } },
    status: 400,
    code: 'missing_field',
    title: 'Missing field',
    detail: 'Missing "name" field for agent',
  },
  {
    line: `PUT ${AGENTS}/nope`,
    sent: { json: { agent: {} } },
    status: 400,
    code: 'agent_creation_not_allowed',
    title: 'Creation is not allowed',
    detail: 'Creation of an agent using the PUT method is not allowed.',
  },
  { line: `GET ${AGENTS}/nope`, status: 404, code: 'agent_not_found', title: 'Agent not found' },
  {
    line: 'POST /api/projects/nope/agents/a/completions/stream',
    sent: { json: { messages: [{ question: 'q', answer: '' }] } },
    status: 404,
    code: 'project_not_found',
    title: 'Project not found',
  },
  {
    line: 'POST /api/sql/query',
    sent: { json: {} },
    status: 400,
    code: 'invalid_request',
    title: 'Wrong arguments',
    detail: 'Please provide "query" with the request.',
  },
  {
    line: 'POST /api/sql/query',
    sent: { json: { query: null } },
    status: 400,
    code: 'invalid_request',
    title: 'Wrong arguments',
  },
  {
    line: 'POST /api/sql/query',
    sent: { json: { query: 'SELECT 1', context: 'mindsdb' } },
    status: 400,
    code: 'invalid_request',
    title: 'Wrong arguments',
    detail: 'Field "context" must be an object, not a string',
  },
  {
    line: 'POST /api/sql/query',
    sent: { json: { query: 'SELECT 1', context: { db: 5 } } },
    status: 400,
    code: 'invalid_request',
    title: 'Wrong arguments',
    detail: 'Field "context.db" must be a string, not the number 5',
  },
  {
    line: 'POST /api/sql/query',
    sent: { json: { query: 'SELECT 1', response_format: 'xml' } },
    status: 400,
    code: 'invalid_request',
    title: 'Invalid stream format',
  },
  {
    line: 'POST /api/sql/query',
    sent: raw('{"query"'),
    status: 400,
    code: 'invalid_json',
    title: 'Bad Request',
  },
  {
    line: 'POST /api/sql/query',
    sent: raw(''),
    status: 400,
    code: 'invalid_json',
    title: 'Bad Request',
  },
  {
    line: 'POST /api/sql/query',
    sent: raw('{"query":"SELECT 1","params":{"a":[{"__proto__":{"x":1}}]}}'),
    status: 400,
    code: 'invalid_json',
    title: 'Bad Request',
    detail: 'The JSON has a key "__proto__", which is refused',
  },
  {
    line: 'POST /api/sql/query',
    sent: raw('[1]'),
    status: 400,
    code: 'invalid_request',
    title: 'Wrong arguments',
    detail: 'The body must be a JSON object, not a list',
  },
  {
    line: 'POST /api/sql/query',
    sent: raw(`{"query":${'['.repeat(5000)}${']'.repeat(5000)}}`),
    status: 400,
    code: 'invalid_json',
    title: 'Bad Request',
    detail: 'The JSON is nested more than 200 levels deep',
  },
  {
    line: 'POST /api/sql/query',
    sent: raw('{"query":"SELECT 1"}', 'text/plain'),
    status: 415,
    code: 'unsupported_media_type',
    title: 'Unsupported Media Type',
    detail: 'The Content-Type of the body must be application/json; it is "text/plain"',
  },
  {
    line: 'POST /api/login',
    sent: { body: new Uint8Array([123, 125]) },
    status: 415,
    code: 'unsupported_media_type',
    title: 'Unsupported Media Type',
    detail: 'The Content-Type of the body must be application/json; it is missing',
  },
  {
    line: 'POST /api/sql/query',
    sent: {
      body: Bun.gzipSync('{"query":"SELECT 1"}'),
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    },
    status: 415,
    code: 'unsupported_media_type',
    title: 'Unsupported Media Type',
    detail: 'A JSON body must not be compressed; its Content-Encoding is "gzip"',
  },
  {
    line: 'POST /api/sql/query',
    sent: { json: { query: 'x'.repeat(100_001) } },
    status: 413,
    code: 'body_too_large',
    title: 'Content Too Large',
    detail: 'The body has more than 100000 bytes, the limit (EIDER_BODY_BYTES_MAX)',
  },
  { line: 'GET /api/projects/%zz', status: 400, code: 'invalid_request', title: 'Wrong arguments' },
  {
    line: 'DELETE /api/projects/mindsdb',
    status: 400,
    code: 'project_not_deletable',
    title: 'Project cannot be deleted',
  },
  { line: 'GET /api/files/nope', status: 404, code: 'file_not_found', title: 'File not found' },
  {
    line: 'GET /api/tree/nope',
    status: 404,
    code: 'project_not_found',
    title: 'Project not found',
  },
]

describe('a failure is problem+json with the wording that clients know', () => {
  for (const { line, sent, ...expected } of CASES) {
    test(`${line} ${expected.detail ?? expected.code}`, async () => {
      const { server } = testServer()
      const { status, headers, json } = await send(server, line, sent)
      expect(headers.get('content-type')).toBe('application/problem+json')
      expect(json).toMatchObject({
        ...expected,
        type: `/docs#${expected.code}`,
        timestamp: '2026-04-30 12:00:00.000000',
      })
      expect(status).toBe(expected.status)
      expect(headers.get('x-request-id')).not.toBeNull()
    })
  }
})

test('a wrong method is answered with those that are allowed', async () => {
  const { server } = testServer()
  const { headers } = await send(server, `PATCH ${KBS}/teas`)
  expect(headers.get('allow')).toBe('GET, PUT, DELETE, HEAD, OPTIONS')
})

test('OPTIONS names the methods, and allows no other site anything', async () => {
  const { server } = testServer()
  const { status, headers } = await send(server, 'OPTIONS /api/sql/query/')
  expect(status).toBe(204)
  expect(headers.get('allow')).toBe('HEAD, GET, POST, OPTIONS')
  expect(headers.get('access-control-allow-origin')).toBeNull()
})

test('HEAD answers as GET, without a body', async () => {
  const { server } = testServer()
  const { status, text } = await send(server, 'HEAD /api/status')
  expect([status, text]).toEqual([200, ''])
})

test('a bug reveals nothing to the client; the log has the details', async () => {
  const bug = new Error('boom at secret-key-1')
  const { server, errors, logged } = testServer({ uploadFiles: () => Promise.reject(bug) })
  const { status, json, text } = await send(server, 'PUT /api/files/x', { body: 'a\n1' })
  expect(status).toBe(500)
  expect(json).toMatchObject({
    title: 'Internal error',
    detail: 'Internal error',
    code: 'internal',
  })
  expect(text).not.toContain('boom')
  expect(text).not.toContain('secret')
  expect(errors).toEqual([{ requestId: 'id-1', error: bug }])
  expect(logged.map((entry) => entry.status)).toEqual([500])
})

test('the cause of an expected failure is not shown', async () => {
  const cause = new Error('sk-secret')
  const failure = new AppError('provider_failed', 'Embedding failed', { cause })
  const { server } = testServer({ uploadFiles: () => Promise.reject(failure) })
  const { status, text } = await send(server, 'PUT /api/files/x', { body: 'a' })
  expect(status).toBe(502)
  expect(text).not.toContain('sk-secret')
})

test('an error that waiting can solve has Retry-After', async () => {
  const failure = new AppError('too_busy', 'Too many questions')
  const { server } = testServer({ uploadFiles: () => Promise.reject(failure) })
  const { status, headers } = await send(server, 'PUT /api/files/x', { body: 'a' })
  expect([status, headers.get('retry-after')]).toEqual([503, '1'])
})

test('each request leaves one line in the log, without query string and body', async () => {
  const { server, logged } = testServer()
  await send(server, 'POST /api/sql/query?token=secret', { json: { query: "SELECT 'secret'" } })
  await send(server, 'GET /nope?key=secret', { headers: { 'x-request-id': 'abc-1' } })
  expect(logged).toEqual([
    {
      ...{ method: 'POST', path: '/api/sql/query', route: '/api/sql/query' },
      ...{ status: 200, ms: 0, requestId: 'id-1', code: null, principal: null },
    },
    {
      ...{ method: 'GET', path: '/nope', route: 'unknown' },
      ...{ status: 404, ms: 0, requestId: 'abc-1', code: 'not_found', principal: null },
    },
  ])
})

test('a request id that could forge a log line is replaced', async () => {
  const { server } = testServer()
  const { headers } = await send(server, 'GET /healthz', { headers: { 'x-request-id': 'a b"{' } })
  expect(headers.get('x-request-id')).toBe('id-1')
})
