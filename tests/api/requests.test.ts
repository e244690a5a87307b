/** Running and answered requests, and the settings, over HTTP. */
import { afterAll, expect, test } from 'bun:test'
import { makeKey } from '../support/access-keys.ts'
import { createTestApp } from '../support/test-app.ts'

const app = await createTestApp({
  environment: { OPENAI_API_KEY: 'sk-hidden', EIDER_CHAT_BASE_URL: 'http://ann:word@models.test' },
})
afterAll(() => app.close())

const SLOW = "SELECT count(*) FROM range(100000000000) a WHERE a.range % 7 = 3 AND 'secret' <> ''"

async function runningStatement(headers?: HeadersInit) {
  for (;;) {
    const { body } = await app.send('GET', '/api/requests/running', undefined, headers)
    // The route's schema defines this form.
    const items = body as readonly { number: number; statement: string | null }[]
    const found = items.find(({ statement }) => statement !== null)
    if (found !== undefined) return found
    await Bun.sleep(5)
  }
}

test('a running statement is listed without values and can be cancelled', async () => {
  const answer = app.send('POST', '/api/sql/query', { query: SLOW })
  const { number, statement } = await runningStatement()
  expect(statement).toStartWith('SELECT count(*)')
  expect(statement).not.toContain('secret')
  expect((await app.send('DELETE', `/api/requests/${number}`)).status).toBe(204)
  expect((await answer).text).toContain('cancelled')
  const again = await app.send('DELETE', `/api/requests/${number}`)
  expect([again.status, Object(again.body).code]).toEqual([404, 'request_not_found'])
})

test('only an admin sees or ends the requests of others', async () => {
  const own = await makeKey(app, ['read'])
  const other = await makeKey(app, ['read'])
  const answer = app.send('POST', '/api/sql/query', { query: SLOW }, own.headers)
  const { number } = await runningStatement(own.headers)
  const seen = await app.send('GET', '/api/requests/running', undefined, other.headers)
  expect(seen.body).toEqual([])
  const path = `/api/requests/${number}`
  expect((await app.send('DELETE', path, undefined, other.headers)).status).toBe(404)
  expect((await app.send('DELETE', path, undefined, own.headers)).status).toBe(204)
  await answer
})

test('answered requests are listed by status and route, without the query string', async () => {
  await app.send('GET', '/api/jobs/77?password=hidden')
  const { body, text } = await app.send('GET', '/api/requests?status=4xx&route=jobs')
  expect(body).toMatchObject([
    { method: 'GET', path: '/api/jobs/77', route: '/api/jobs/:job_id', status: 404 },
  ])
  expect(text).not.toContain('hidden')
  const ofPage = await app.send('GET', '/api/jobs/78', undefined, { 'x-eider-page': '1' })
  expect(ofPage.status).toBe(404)
  const found = async (from: string) => {
    return (await app.send('GET', `/api/requests?status=4xx&route=jobs&from=${from}`)).body
  }
  expect(await found('page')).toMatchObject([{ path: '/api/jobs/78', is_from_page: true }])
  expect(await found('programs')).toMatchObject([{ path: '/api/jobs/77', is_from_page: false }])
  const slow = await app.send('GET', '/api/requests?ms_min=86400000')
  expect(slow.body).toEqual([])
})

test('the settings say what they are, and no secret', async () => {
  const { body, text } = await app.send('GET', '/api/settings')
  // The route's schema defines this form.
  const settings = body as readonly { name: string }[]
  const one = (name: string) => settings.find((setting) => setting.name === name)
  expect(one('EIDER_QUERY_MS')).toMatchObject({ value: '60000', default: '60000', is_set: true })
  expect(one('OPENAI_API_KEY')).toMatchObject({ value: null, is_secret: true, is_set: true })
  expect(one('OTEL_EXPORTER_OTLP_PROTOCOL')).toMatchObject({ default: 'http/protobuf' })
  const captures = one('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT')
  expect(captures).toMatchObject({ value: 'false', default: 'false' })
  expect(one('EIDER_CHAT_BASE_URL')).toMatchObject({ value: 'http://…@models.test' })
  expect(text).not.toContain('sk-hidden')
  expect(text).not.toContain('word@')
})

test('a statement that the end of the server ends is not a failure in the log', async () => {
  const failures: unknown[] = []
  const log = { request() {}, failure: (failed: unknown) => failures.push(failed) }
  const ending = await createTestApp({ log })
  const formats = ['application/json', 'text/csv']
  const answers = formats.map((accept) => {
    return ending.send('POST', '/api/sql/query', { query: SLOW }, { accept })
  })
  for (let count = 0; count < formats.length; await Bun.sleep(5)) {
    const { body } = await ending.send('GET', '/api/requests/running')
    count = (body as readonly { statement: unknown }[]).filter((one) => one.statement).length
  }
  await ending.close()
  for (const answer of answers) expect((await answer).text).toContain('shutting down')
  expect(failures).toEqual([])
})
