import { describe, expect, test } from 'bun:test'
import { modelsFor, requireModel } from '../../../src/api/http/openai/named-models.ts'
import type { Principal, Scope } from '../../../src/core/domain/access/principal.ts'
import { agentNamed, kbNamed, snapshotOf } from '../../agents/agent-fixture.ts'
import { send, testServer } from '../server-fixture.ts'

const SNAPSHOT = snapshotOf({
  agents: [agentNamed('teas'), agentNamed('secret', { projectName: 'other' })],
  knowledgeBases: [kbNamed('mindsdb.teas'), kbNamed('mindsdb.docs'), kbNamed('other.plans')],
})

function keyWith(scopes: readonly Scope[], namespaces: readonly string[] | null = null): Principal {
  return {
    kind: 'key',
    id: '1',
    name: 'key',
    scopes: new Set(scopes),
    namespaces: namespaces === null ? null : new Set(namespaces),
  }
}

describe('what a key may ask', () => {
  const idsFor = (principal: Principal) => modelsFor(SNAPSHOT, principal).map(({ id }) => id)

  test('is everything for an admin, an agent before a knowledge base of its name', () => {
    const all = modelsFor(SNAPSHOT, keyWith(['admin']))
    expect(all.map(({ id, kind }) => `${kind} ${id}`)).toEqual([
      'agent mindsdb.teas',
      'agent other.secret',
      'knowledge_base mindsdb.docs',
      'knowledge_base other.plans',
    ])
  })

  test('is agents alone without the right to read, nothing without the right to ask', () => {
    expect(idsFor(keyWith(['ask']))).toEqual(['mindsdb.teas', 'other.secret'])
    expect(idsFor(keyWith(['read']))).toEqual([])
  })

  test('ends at its projects', () => {
    expect(idsFor(keyWith(['ask', 'read'], ['mindsdb']))).toEqual(['mindsdb.teas', 'mindsdb.docs'])
    const limited = keyWith(['ask', 'read'], ['mindsdb'])
    const messageOf = (id: string) => {
      try {
        requireModel(SNAPSHOT, limited, id)
        return ''
      } catch (error) {
        return String(error).replace(id, '…')
      }
    }
    expect(messageOf('other.secret')).not.toBe('')
    expect(messageOf('other.secret')).toBe(messageOf('other.nothing'))
  })

  test('may be named without the default project, in any case', () => {
    const everyone = keyWith(['admin'])
    expect(requireModel(SNAPSHOT, everyone, 'Docs').id).toBe('mindsdb.docs')
    expect(requireModel(SNAPSHOT, everyone, 'MINDSDB.teas').kind).toBe('agent')
  })

  test('over a knowledge base reads only that one, with any name', () => {
    const snapshot = snapshotOf({ knowledgeBases: [kbNamed('*.a?b*')] })
    const { agent } = requireModel(snapshot, keyWith(['admin']), '*.a?b*')
    expect(agent.data).toMatchObject({ knowledgeBases: ['*.a?b*'], isExact: true })
  })
})

describe('errors below /v1', () => {
  const { server } = testServer()

  test.each([
    ['GET /v1/nothing', 404, 'invalid_request_error', 'unknown_url'],
    ['GET /v1', 404, 'invalid_request_error', 'unknown_url'],
    ['DELETE /v1/models', 405, 'invalid_request_error', 'method_not_allowed'],
    ['GET /v1/models/none', 404, 'invalid_request_error', 'model_not_found'],
    ['GET /v1/%zz', 400, 'invalid_request_error', 'invalid_request'],
  ])('%s', async (line, status, type, code) => {
    const answer = await send(server, line)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('x-request-id')).not.toBeNull()
    expect(answer.json).toEqual({
      error: {
        message: expect.any(String),
        type,
        param: code === 'model_not_found' ? 'model' : null,
        code,
      },
    })
  })

  test('without the login', async () => {
    const settings = { ...testServer().deps.settings, username: 'u', password: 'p' }
    const { status, json, headers } = await send(testServer({ settings }).server, 'GET /v1/models')
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toContain('Bearer')
    expect(json).toMatchObject({ error: { type: 'authentication_error', code: 'invalid_api_key' } })
  })
})
