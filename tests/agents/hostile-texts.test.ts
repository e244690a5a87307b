/**
 * Texts from a hostile model, of the maximum length. Code with quadratic time would take minutes.
 */
import { describe, expect, test } from 'bun:test'
import { mentionsIn } from '../../src/agents/evidence/citations.ts'
import { statementsOf } from '../../src/agents/evidence/shown-passages.ts'
import { answerCheck, objectionTo } from '../../src/agents/loop/turn-rules.ts'
import { statementIn } from '../../src/agents/tools/written-statement.ts'
import type { ChatDelta } from '../../src/core/domain/ports/model-ports.ts'
import { textToolTurn } from '../../src/models/adaptive-chat.ts'
import { ThoughtSplitter } from '../../src/models/providers/openai-answer.ts'

const SOON_MS = 5_000
const TOOL = { name: 'sql_db_query', description: 'Rows', input: { name: 'q', description: 'SQL' } }

describe('a statement in', () => {
  test.each([
    ['spaces', `x${' '.repeat(60_000)}x`],
    ['lines', `x${'\n'.repeat(60_000)}x`],
    ['an open fence', `a \`\`\`${' '.repeat(60_000)}b`],
    ['a fence of spaces', `a \`\`\`\n${' '.repeat(60_000)}b`],
    ['many fences', '```a b'.repeat(10_000)],
  ])(
    '%s is looked for at once',
    (_, text) => {
      expect(statementIn(text).length).toBeLessThanOrEqual(text.length)
    },
    SOON_MS,
  )
})

describe('an answer of', () => {
  test.each([
    ['lines', `x${'\n'.repeat(199_000)}x`],
    ['spaces', `x${' '.repeat(199_000)}x`],
    ['a fence and spaces', `\`\`\`${' '.repeat(190_000)}x`],
    ['a fence and lines', `\`\`\`json${'\n'.repeat(190_000)}x`],
    ['digits', '1'.repeat(199_000)],
    ['dots', `1${'.'.repeat(199_000)}1`],
  ])(
    '%s is read at once',
    async (_, text) => {
      expect(objectionTo(text, [TOOL])).toBeNull()
      expect(mentionsIn(text, new Set(['1:content:1of1:0to1']))).toEqual([])
      const rows = { sql: 'SELECT 1', column_names: ['a'], data: [['no such']], isCut: false }
      expect(statementsOf(text, [rows])).toHaveLength(1)
      const check = await answerCheck({ name: 'a', schema: { type: 'object' } })
      expect(check(text).kind).toBe('wrong')
      const turn = textToolTurn({ messages: [], tools: [TOOL] }, () => piecesOf([text]))
      expect(await textOf(turn)).toBe(text)
    },
    SOON_MS,
  )

  test(
    'an answer of a hundred thousand spaces is read quickly',
    async () => {
      const pieces = Array.from({ length: 150_000 }, () => ' ')
      const splitter = new ThoughtSplitter()
      const said = [...pieces.flatMap((piece) => splitter.add(piece)), ...splitter.end()]
      expect(said.map(({ text }) => text).join('')).toBe(pieces.join(''))
      const turn = textToolTurn({ messages: [], tools: [TOOL] }, () => piecesOf(['x', ...pieces]))
      expect(await textOf(turn)).toBe(`x${pieces.join('')}`)
    },
    SOON_MS,
  )
})

test(
  'of millions of mistakes in a long answer, one is reported',
  async () => {
    const items = { allOf: Array.from({ length: 300 }, () => ({ type: 'string' })) }
    const check = await answerCheck({ name: 'a', schema: { type: 'array', items } })
    expect(check(`[${'1,'.repeat(95_000)}1]`)).toMatchObject({ problem: '/0 must be string' })
  },
  SOON_MS,
)

async function* piecesOf(texts: readonly string[]): AsyncGenerator<ChatDelta> {
  for (const text of texts) yield { kind: 'text', text }
}

async function textOf(deltas: AsyncIterable<ChatDelta>): Promise<string> {
  const texts: string[] = []
  for await (const delta of deltas) if (delta.kind === 'text') texts.push(delta.text)
  return texts.join('')
}
