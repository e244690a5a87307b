import { afterAll, describe, expect, test } from 'bun:test'
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import { type EvaluationTable, selectOver } from '../../src/query/evaluate/evaluation-table.ts'
import { QUESTION_TYPES } from '../../src/query/evaluate/measures.ts'
import { ANSWER_COLUMNS, type AnswerRow } from '../../src/query/evaluate/saved-answers.ts'
import { MEANS, SUMMARY } from '../../src/query/evaluate/summaries.ts'

const instance = await DuckDBInstance.create(':memory:')
const connection: DuckDBConnection = await instance.connect()

afterAll(() => {
  connection.closeSync()
  instance.closeSync()
})

async function over(
  table: EvaluationTable,
  select: string,
  given: Readonly<Record<string, DuckDBValue>> = {},
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { sql, values } = selectOver(table, select)
  // The rows are bound as one text.
  const bound = { ...(values as Record<string, DuckDBValue>), ...given }
  const numbers = (value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
  const rows = (await connection.runAndReadAll(sql, bound)).getRowObjects()
  return rows.map((row) => {
    return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, numbers(value)]))
  })
}

describe('judgments', () => {
  const graded = (value: number | null) => {
    const values = { ndcg_at_k: value, recall_at_k: value, precision_at_k: value }
    return { question: 'q', ...values, reciprocal_rank: value, average_precision: value }
  }
  const means = async (values: readonly (number | null)[]) => {
    const table = { types: QUESTION_TYPES.judgments, rows: values.map(graded) }
    return (await over(table, MEANS.judgments, { unknown: 3, k: 5 }))[0]
  }

  test('each question weighs the same, and those without a relevant document nothing', async () => {
    const shares = {
      ndcg_at_k: 0.5,
      recall_at_k: 0.5,
      precision_at_k: 0.5,
      mrr: 0.5,
      map_at_k: 0.5,
    }
    expect(await means([1, 0, null, 1, 0])).toMatchObject({
      ...{ questions: 4, skipped_questions: 1, unknown_documents: 3, k: 5 },
      ...shares,
    })
  })

  test('of nothing they are 0', async () => {
    expect(await means([null])).toMatchObject({ questions: 0, skipped_questions: 1, mrr: 0 })
    expect(await means([])).toMatchObject({ questions: 0, skipped_questions: 0, recall_at_k: 0 })
  })
})

test('found documents are counted by their positions', async () => {
  const rows = [0, 2, null, 12].map((position) => ({ question: 'q', position, query_time: 2 }))
  const table = { types: QUESTION_TYPES.doc_id, rows }
  const [found] = await over(table, MEANS.doc_id, { k: 20 })
  const counts = { total: 4, total_found: 3, retrieved_in_top_10: 2, avg_query_time: 2 }
  expect(found).toMatchObject(counts)
  const recall = JSON.parse(String(found?.cumulative_recall))
  expect(Object.keys(recall)).toHaveLength(20)
  expect([0, 1, 2, 3, 19].map((place) => recall[place])).toEqual([0.25, 0.25, 0.5, 0.5, 0.75])
})

test('relevance is averaged over the questions that have the value', async () => {
  const scored = (scores: readonly number[], position: number | null, ndcg: number | null) => {
    const relevancy = scores.reduce((sum, score) => sum + score, 0) / scores.length
    const ranks = { first_relevant_position: position, reciprocal_rank: position && 0.5 }
    const measures = { precision_at_k: position && 0.5, entropy: ndcg && 0, ndcg }
    return { relevancy, relevance_scores: JSON.stringify(scores), ...ranks, ...measures }
  }
  const table = {
    types: QUESTION_TYPES.llm_relevancy,
    rows: [scored([0, 1], 1, 0.6), scored([0], null, null)],
  }
  const [means] = await over(table, MEANS.llm_relevancy)
  expect(means).toMatchObject({
    ...{ avg_relevancy: 0.25, avg_first_relevant_position: 1, hit_at_k: 0.5 },
    ...{ avg_entropy: 0, avg_ndcg: 0.6 },
  })
  expect(JSON.parse(String(means?.avg_relevance_score_by_k))).toEqual([0, 1])
  const [none] = await over({ types: QUESTION_TYPES.llm_relevancy, rows: [] }, MEANS.llm_relevancy)
  expect(none).toMatchObject({
    avg_relevancy: null,
    avg_ndcg: null,
    avg_relevance_score_by_k: '[]',
  })
})

describe('answers of an agent', () => {
  type Given = Partial<AnswerRow> & Pick<AnswerRow, 'setting' | 'position'>
  const summary = (rows: readonly Given[]) => {
    return over({ types: ANSWER_COLUMNS, rows: rows.map((row) => ({ run: 'r', ...row })) }, SUMMARY)
  }
  const answers = (right: number, total: number) => {
    return Array.from({ length: total }, (_, position) => {
      return { setting: 'base', position, correct: position < right }
    })
  }

  test("have Wilson's interval, which holds at the ends and in the middle", async () => {
    // These are values of R's binom.wilson.
    const rounded = async (right: number, total: number) => {
      const [row] = await summary(answers(right, total))
      return [row?.accuracy_low, row?.accuracy_high].map((one) => Number(Number(one).toFixed(4)))
    }
    expect(await rounded(0, 10)).toEqual([0, 0.2775])
    expect(await rounded(10, 10)).toEqual([0.7225, 1])
    expect(await rounded(81, 263)).toEqual([0.2553, 0.3662])
    const [unjudged] = await summary([{ setting: 'base', position: 1 }])
    expect(unjudged).toMatchObject({ judged: 0, accuracy_low: null, accuracy_high: null })
  })

  test("of two settings are compared by McNemar's exact test", async () => {
    const compared = async (wins: number, losses: number, ties: number) => {
      const pairs = [
        ...Array.from({ length: wins }, () => [false, true] as const),
        ...Array.from({ length: losses }, () => [true, false] as const),
        ...Array.from({ length: ties }, () => [true, true] as const),
      ]
      const [base, compare] = await summary(
        pairs.flatMap(([before, after], position) => [
          { setting: 'base', position, correct: before },
          { setting: 'compare', position, correct: after },
        ]),
      )
      expect(base).toMatchObject({ wins: null, p_value: null })
      expect(compare).toMatchObject({ wins, losses, ties })
      return Number(compare?.p_value)
    }
    expect(await compared(2, 0, 1)).toBe(0.5)
    expect(await compared(3, 3, 0)).toBe(1)
    // binom.test(2, 12)
    expect(await compared(10, 2, 50)).toBeCloseTo(0.03857422, 7)
    // A set can have this many questions, and the computation must not underflow.
    expect(await compared(5100, 4900, 0)).toBeCloseTo(0.0466, 3)
  })

  test('are counted, averaged and summed without those that failed', async () => {
    const [row] = await summary([
      { setting: 'base', position: 1, seconds: 1, cited: true, cited_rank: 2, cost: 0.5 },
      { setting: 'base', position: 2, seconds: 3, cited: false, input_tokens: 7, cost: 0.25 },
      { setting: 'base', position: 3, error: 'timeout: too slow' },
      { setting: 'base', position: 4, seconds: 2, said_not_found: true, expected: 'x' },
    ])
    expect(row).toMatchObject({
      ...{ questions: 4, answered: 3, failed: 1, judged: 0, correct: 0, accuracy: null },
      ...{ cited: 0.5, cited_first: 0, wrongly_not_found: 1, seconds_mean: 2, seconds_p50: 2 },
      ...{ seconds_p95: 3, input_tokens: 7, output_tokens: null, cost: 0.75 },
    })
  })
})
