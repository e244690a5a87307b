import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { retryAfterMs } from '../../src/models/provider-call.ts'
import {
  CLASS_LABELS,
  numberScore,
  textScore,
  tokensScore,
  YES_LABELS,
} from '../../src/models/rerankers/chat-rerankers.ts'
import { type JudgeAnswer, judgeAnswerOf } from '../../src/models/rerankers/judge.ts'
import { completion } from './fixtures/rerank-support.ts'

async function tokensOf(...tokens: readonly Readonly<Record<string, number>>[]) {
  const answer: JudgeAnswer = judgeAnswerOf(await completion('', tokens).json())
  return answer.tokens ?? []
}

describe('probabilities', () => {
  test('the deciding token is the one with the labels, not one that might have begun one', async () => {
    const tokens = await tokensOf(
      { class: 0.9, '1': 0.06 },
      { _: 0.99, '4': 0.01 },
      { '3': 0.8, '2': 0.1, '4': 0.05, '1': 0.05 },
    )
    const expected = 0.8 * 0.75 + 0.1 * 0.5 + 0.05 + 0.05 * 0.25
    expect(tokensScore(tokens, CLASS_LABELS)).toBeCloseTo(expected, 10)
  })

  test('a label in one token is read as well', async () => {
    const tokens = await tokensOf({ class_4: 0.5, class_2: 0.5 })
    const spread = tokensScore(tokens, CLASS_LABELS) ?? 0
    expect(spread).toBeCloseTo(0.75, 10)
  })

  test('a label that is not among the alternatives has what they leave over at most', async () => {
    const alone = await tokensOf({ yes: 0.6 })
    expect(tokensScore(alone, YES_LABELS)).toBeCloseTo(0.6, 10)
    const crowded = await tokensOf({ yes: 0.9, Yes: 0.06, Sure: 0.01 })
    expect(tokensScore(crowded, YES_LABELS)).toBeCloseTo(0.96 / 0.97, 10)
  })

  test('noise is not a label', async () => {
    expect(tokensScore(await tokensOf({ Well: 0.97, yes: 0.02 }), YES_LABELS)).toBeNull()
    const thinking = await tokensOf({ '<think>': 1 }, { Okay: 1 }, { ' no': 1 })
    expect(tokensScore(thinking, YES_LABELS)).toBeNull()
    expect(tokensScore([], YES_LABELS)).toBeNull()
  })

  test('invalid numbers do no harm', () => {
    const content = [
      {
        token: 'yes',
        logprob: 1e-9,
        top_logprobs: [
          { token: 'yes', logprob: 1e-9 },
          { token: 'no', logprob: Number.NaN },
          { token: 'no', logprob: '-1' },
          { token: 'no', logprob: Number.NEGATIVE_INFINITY },
          null,
          7,
        ],
      },
    ]
    const choices = [{ message: { content: 'yes' }, logprobs: { content } }]
    const { tokens } = judgeAnswerOf({ choices })
    expect(tokensScore(tokens ?? [], YES_LABELS)).toBe(1)
  })

  test('a score lies in [0, 1] for all probabilities', () => {
    const word = fc.constantFrom('yes', 'Yes', 'no', ' no', 'class', '_', '1', '2', '4', '<', '')
    const choice = fc.record({ token: word, logprob: fc.double({ max: 0 }) })
    const entry = fc
      .tuple(choice, fc.array(choice, { maxLength: 6 }))
      .map(([said, top_logprobs]) => ({ ...said, top_logprobs }))
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 6 }), (content) => {
        const { tokens } = judgeAnswerOf({ choices: [{ logprobs: { content } }] })
        for (const labels of [YES_LABELS, CLASS_LABELS]) {
          const score = tokensScore(tokens ?? [], labels) ?? 0
          expect(score).toBeGreaterThanOrEqual(0)
          expect(score).toBeLessThanOrEqual(1)
        }
      }),
    )
  })
})

test.each([
  ['class_3', 0.75],
  [' **Class 3**.', 0.75],
  ['3', 0.75],
  ['The label is class_2', 0.5],
  ['class_2 or class_3', null],
  ['In 3 of 10 cases', null],
  ['', null],
])('the text %p is the class score %p', (text, score) => {
  expect(textScore(text, CLASS_LABELS)).toBe(score)
})

test.each([
  ['85', 0.85],
  ['85%', 0.85],
  ['Score: 85', 0.85],
  ['85/100', 0.85],
  ['{"score": 85}', 0.85],
  ['Passage 1 has the relevance 40', 0.4],
  ['0.85', 0.85],
  ['1', 0.01],
  ['1.0', 1],
  ['100', 1],
  ['0', 0],
  ['-5', null],
  ['101', null],
  ['In 2024 nobody knew', null],
  ['NaN', null],
  ['Infinity', null],
  ['', null],
  ['9'.repeat(400), null],
])('the text %p is the number score %p', (text, score) => {
  expect(numberScore(text)).toBe(score)
})

test.each([
  [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:10 GMT' }, 9000],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
  [{ 'retry-after': '-3' }, 0],
  [{ 'retry-after': 'soon' }, null],
  [{}, null],
])('the headers %p ask for a pause of %p ms', (headers, millis) => {
  expect(retryAfterMs(new Headers(headers), 1000)).toBe(millis)
})
