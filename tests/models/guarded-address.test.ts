import { expect, test } from 'bun:test'
import { addressPolicy, internet } from '../../src/core/runtime/address-policy.ts'
import { embedderRegistry } from '../../src/models/registries/embedder-registry.ts'
import { scriptedServer, thrownBy } from './fixtures/scripted-server.ts'

const never = new AbortController().signal

test('a name that means another address at the next call is refused, and nothing is sent', async () => {
  await using server = scriptedServer(() => Response.json({ data: [{ index: 0, embedding: [1] }] }))
  const answers = [['127.0.0.1'], ['127.0.0.1', '10.0.0.1'], ['169.254.169.254']]
  const asked: string[] = []
  const guard = {
    policy: addressPolicy({ setting: 'EIDER_NETWORK_ALLOW', entries: ['127.0.0.1'] }),
    network: {
      resolve: async (host: string) => {
        asked.push(host)
        return answers[asked.length - 1] ?? []
      },
      fetch: internet.fetch,
    },
  }
  const builtin = { embed: () => Promise.reject(new Error('not expected')) }
  const baseUrl = server.url.replace('127.0.0.1', 'models.test')
  const ref = { provider: 'openai', modelName: 'm', baseUrl, options: {} }
  const embedder = embedderRegistry({ builtin, guard }).embedder(ref)
  expect(await embedder.embed(['a'], never)).toHaveLength(1)
  for (const address of ['10.0.0.1', '169.254.169.254']) {
    const error = await thrownBy(embedder.embed(['a'], never))
    expect(error).toMatchObject({ code: 'address_refused' })
    const why = `models.test (${address}) is not a public address; EIDER_NETWORK_ALLOW can name it`
    expect(String(error)).toContain(why)
  }
  expect(asked).toEqual(['models.test', 'models.test', 'models.test'])
  expect(server.seen).toHaveLength(1)
  expect(server.seen[0]?.headers.get('host')).toStartWith('models.test:')
})
