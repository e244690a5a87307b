import { expect, test } from 'bun:test'
import type { ModelRef } from '../../src/core/domain/model-ref.ts'
import { FeatureMemories } from '../../src/models/registries/feature-memories.ts'

const ref = (changes: Partial<ModelRef> = {}): ModelRef => {
  return { provider: 'ollama', modelName: 'm', options: {}, ...changes }
}

test('what is learned of a model is known to all who ask it, and of no other', () => {
  const memories = new FeatureMemories(() => 0)
  const [one, other] = [memories.of(ref()), memories.of(ref())]
  one.add('tools')
  other.add('streaming')
  expect([...memories.of(ref()).refused].toSorted()).toEqual(['streaming', 'tools'])
  const others = [
    { modelName: 'n' },
    { apiKey: 'k' },
    { baseUrl: 'http://b' },
    { provider: 'vllm' },
  ]
  for (const change of others) expect(memories.of(ref(change)).refused.size).toBe(0)
})

test('the entry expires after an hour', () => {
  const clock = { ms: 0 }
  const memories = new FeatureMemories(() => clock.ms)
  memories.of(ref()).add('tools')
  clock.ms = 59 * 60 * 1000
  expect(memories.of(ref()).refused.has('tools')).toBe(true)
  clock.ms = 61 * 60 * 1000
  expect(memories.of(ref()).refused.has('tools')).toBe(false)
})

test('of the models of many, the latest are remembered', () => {
  const memories = new FeatureMemories(() => 0)
  for (let n = 0; n < 1_100; n += 1) memories.of(ref({ modelName: `m${n}` })).add('tools')
  expect(memories.of(ref({ modelName: 'm0' })).refused.size).toBe(0)
  expect(memories.of(ref({ modelName: 'm1099' })).refused.size).toBe(1)
})
