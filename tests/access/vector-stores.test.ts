/** Files and vector stores of OpenAI's API, used by keys with some of the rights. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Scope } from '../../src/core/domain/access/principal.ts'
import { makeKey } from '../support/access-keys.ts'
import type { TestApp } from '../support/test-app.ts'
import { SECRET, twoProjects } from './two-projects.ts'

const KETTLE = '/v1/vector_stores/open.kettle_kb'
const VAULT = `/v1/vector_stores/${SECRET}.${SECRET}_kb`

let t: TestApp
/** The file in the secret knowledge base, and the one that a key may know. */
let secretFile: string
let keys: Readonly<Record<'reader' | 'writer' | 'asker' | 'limited' | 'noFiles', HeadersInit>>
beforeAll(async () => {
  t = await twoProjects()
  const key = async (scopes: readonly Scope[], projects?: readonly string[]) => {
    return (await makeKey(t, scopes, projects === undefined ? {} : { projects })).headers
  }
  keys = {
    reader: await key(['read']),
    writer: await key(['write']),
    asker: await key(['ask']),
    limited: await key(['read', 'write', 'ask'], ['open', 'files']),
    noFiles: await key(['read', 'write', 'ask'], ['open']),
  }
  secretFile = await uploaded('plan.txt', `The ${SECRET} plan.`, {})
  await attached(VAULT, secretFile, {})
})
afterAll(() => t.close())

async function uploaded(name: string, text: string, headers: HeadersInit): Promise<string> {
  const form = new FormData()
  form.set('purpose', 'assistants')
  form.set('file', new File([text], name))
  const { body } = await t.send('POST', '/v1/files', form, headers)
  return (body as { id: string }).id
}

async function attached(at: string, file_id: string, headers: HeadersInit): Promise<void> {
  await t.send('POST', `${at}/files`, { file_id }, headers)
  for (let status = 'in_progress'; status === 'in_progress'; await Bun.sleep(5)) {
    const { body } = await t.send('GET', `${at}/files/${file_id}`)
    status = (body as { status: string }).status
  }
}

const status = async (who: HeadersInit, method: string, path: string, body?: unknown) => {
  return (await t.send(method, path, body, who)).status
}

test('a key that may only read can search and list, but changes nothing', async () => {
  const { reader } = keys
  expect(await status(reader, 'POST', `${KETTLE}/search`, { query: 'kettle' })).toBe(200)
  expect(await status(reader, 'GET', `${KETTLE}/files`)).toBe(200)
  for (const [method, path, body] of [
    ['POST', '/v1/vector_stores', { name: 'x' }],
    ['POST', KETTLE, { name: 'x' }],
    ['DELETE', KETTLE],
    ['POST', `${KETTLE}/files`, { file_id: secretFile }],
    ['POST', `${KETTLE}/files/kettle-1`, { attributes: {} }],
    ['DELETE', `${KETTLE}/files/kettle-1`],
    ['POST', `${KETTLE}/file_batches`, { file_ids: [secretFile] }],
    ['DELETE', `/v1/files/${secretFile}`],
  ] as const) {
    expect([method, path, await status(reader, method, path, body)]).toEqual([method, path, 403])
  }
})

test('a key that may only write cannot make a file readable, or read one by changing it', async () => {
  const { writer } = keys
  expect(await status(writer, 'POST', '/v1/vector_stores', { name: 'x' })).toBe(200)
  for (const [path, body] of [
    ['/v1/vector_stores', { name: 'y', file_ids: [secretFile] }],
    [`${KETTLE}/files`, { file_id: secretFile }],
    [`${KETTLE}/file_batches`, { file_ids: [secretFile] }],
    [`${KETTLE}/files/kettle-1`, { attributes: { color: 'red' } }],
    [`${KETTLE}/search`, { query: 'kettle' }],
  ] as const) {
    expect([path, await status(writer, 'POST', path, body)]).toEqual([path, 403])
  }
})

test('a key that may only ask cannot use files, stores or embeddings', async () => {
  const { asker } = keys
  const input = { model: 'all-MiniLM-L6-v2', input: 'x' }
  expect(await status(asker, 'POST', '/v1/embeddings', input)).toBe(403)
  expect(await status(asker, 'POST', `${KETTLE}/search`, { query: 'x' })).toBe(403)
  for (const path of ['/v1/files', `/v1/files/${secretFile}`, '/v1/vector_stores', KETTLE]) {
    expect([path, await status(asker, 'GET', path)]).toEqual([path, 403])
  }
  const tools = [{ type: 'file_search', vector_store_ids: ['open.kettle_kb'] }]
  const question = { model: 'open.kettle_agent', input: 'What hums?', tools }
  expect(await status(asker, 'POST', '/v1/responses', question)).toBe(404)
})

test('a limited key cannot reach a store of another project by path, list or question', async () => {
  const { limited } = keys
  for (const [method, path, body] of [
    ['GET', VAULT],
    ['DELETE', VAULT],
    ['GET', `${VAULT}/files`],
    ['GET', `${VAULT}/files/${secretFile}/content`],
    ['POST', `${VAULT}/search`, { query: 'plan' }],
    ['POST', `${VAULT}/files`, { file_id: secretFile }],
  ] as const) {
    const answer = await t.send(method, path, body, limited)
    // The answer is the same as for an ID that does not exist.
    const none = await t.send(method, path.replaceAll(SECRET, 'nowhere'), body, limited)
    expect([method, path, answer.status, none.status]).toEqual([method, path, 403, 403])
  }
  expect((await t.send('GET', '/v1/vector_stores', undefined, limited)).text).not.toContain(SECRET)
  const store = [`${SECRET}.${SECRET}_kb`]
  const tools = [{ type: 'file_search', vector_store_ids: store }]
  const question = { model: 'open.kettle_agent', input: 'plan', tools }
  expect(await status(limited, 'POST', '/v1/responses', question)).toBe(404)
  const answer = await t.send('POST', '/v1/responses', { ...question, model: store[0] })
  const { id } = answer.body as { id: string }
  expect(await status({}, 'GET', `/v1/responses/${id}`)).toBe(200)
  expect(await status(limited, 'GET', `/v1/responses/${id}`)).toBe(404)
})

test('a key without access to files can neither attach nor delete one', async () => {
  const { noFiles } = keys
  for (const [method, path, body] of [
    ['GET', '/v1/files'],
    ['DELETE', `/v1/files/${secretFile}`],
    ['POST', `${KETTLE}/files`, { file_id: secretFile }],
    ['POST', `${KETTLE}/file_batches`, { file_ids: [secretFile] }],
    ['POST', '/v1/vector_stores', { name: 'open.z', file_ids: [secretFile] }],
  ] as const) {
    expect([method, path, await status(noFiles, method, path, body)]).toEqual([method, path, 403])
  }
})

test('a file that a limited key deletes stays in stores that it may not name', async () => {
  const { limited } = keys
  const id = await uploaded('shared.txt', 'Tea for two.', limited)
  await attached(KETTLE, id, limited)
  await attached(VAULT, id, {})
  expect(await status(limited, 'DELETE', `/v1/files/${id}`)).toBe(200)
  expect(await status({}, 'GET', `${KETTLE}/files/${id}`)).toBe(404)
  expect(await status({}, 'GET', `${VAULT}/files/${id}`)).toBe(200)
})

test('a key without access to files cannot restart an attachment of others', async () => {
  const id = await uploaded('again.txt', 'Tea again.', {})
  await attached(KETTLE, id, {})
  const { body } = await t.send('GET', '/api/jobs')
  const job = (body as { items: { id: number; title: string }[] }).items.find(({ title }) => {
    return title.startsWith('Attach ')
  })
  // The batch has ended. With the permission, the response would be 409, or the batch would
  // restart.
  expect(await status(keys.noFiles, 'POST', `/api/jobs/${job?.id}/retry`)).toBe(403)
})
