import { expect, test } from 'bun:test'
import { maskedModelFields, modelRefOf } from '../../src/query/definitions/fields.ts'

test('a model that is read and sent back keeps its secrets, nested ones too', () => {
  const defaults = { provider: 'openai', code: 'invalid_request' } as const
  const stored = modelRefOf(
    {
      provider: 'openai',
      model_name: 'm',
      api_key: 'sk-1',
      base_url: 'http://a.test/v1',
      headers: { 'x-api-key': 'k2', plain: 'p' },
      gateways: [{ token: 't3' }],
    },
    defaults,
  )
  const read = maskedModelFields(stored)
  expect(JSON.stringify(read)).not.toMatch(/sk-1|k2|t3/)
  expect(modelRefOf(read, defaults, stored)).toEqual(stored)
  const elsewhere = { ...read, base_url: 'http://b.test/v1', api_key: 'sk-2' }
  expect(() => modelRefOf(elsewhere, defaults, stored)).toThrow('headers.x-api-key')
})
