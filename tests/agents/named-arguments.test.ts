import { describe, expect, test } from 'bun:test'
import {
  type ArgumentSpecs,
  argumentSchema,
  readArguments,
} from '../../src/agents/tools/named-arguments.ts'

const SPECS = {
  name: { type: 'string', isRequired: true, description: 'A name' },
  kind: { type: 'string', values: ['bar', 'line'], description: 'A kind' },
  limit: { type: 'integer', min: 1, max: 30, description: 'How many' },
  whole: { type: 'boolean', description: 'All of it' },
} as const satisfies ArgumentSpecs

describe('readArguments', () => {
  test.each([
    ['{"name":"a"}', { name: 'a', kind: null, limit: null, whole: null }],
    [
      '{"name":"a","kind":"BAR","limit":"7","whole":"true"}',
      { name: 'a', kind: 'bar', limit: 7, whole: true },
    ],
    [
      '{"name":"a","kind":"","limit":null,"whole":false}',
      { name: 'a', kind: null, limit: null, whole: false },
    ],
  ])('%s', (input, values) => expect<object>(readArguments(input, SPECS)).toEqual(values))

  test.each([
    ['', '"name" is missing: A name'],
    ['{', 'must be one JSON object; the arguments are name, kind (optional), limit (optional)'],
    ['[1]', 'must be one JSON object'],
    ['{"name":7}', '"name" must be a string'],
    ['{"name":"a","kind":"pie"}', '"kind" must be one of bar, line'],
    ['{"name":"a","limit":0}', '"limit" must be a whole number from 1 to 30'],
    ['{"name":"a","limit":1.5}', '"limit" must be a whole number from 1 to 30'],
    ['{"name":"a","limit":1e99}', '"limit" must be a whole number'],
    ['{"name":"a","whole":1}', '"whole" must be true or false'],
    ['{"name":"a","__proto__":1}', 'there is no argument "__proto__"'],
    [`{"name":"${'x'.repeat(70_000)}"}`, '"name" has at most 65536 characters'],
  ])('%.60s gets what is wrong', (input, reason) => {
    expect(() => readArguments(input, SPECS)).toThrow(reason)
  })
})

test('argumentSchema is a schema of an object without other keys', () => {
  expect(argumentSchema(SPECS)).toEqual({
    type: 'object',
    properties: {
      name: { type: 'string', description: 'A name' },
      kind: { type: 'string', description: 'A kind', enum: ['bar', 'line'] },
      limit: { type: 'integer', description: 'How many', minimum: 1, maximum: 30 },
      whole: { type: 'boolean', description: 'All of it' },
    },
    required: ['name'],
    additionalProperties: false,
  })
})
