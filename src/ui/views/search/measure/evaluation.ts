/** EVALUATE on the judgments, and what its rows say. */
import type { Fusion, SearchMode } from '../../../../core/domain/hybrid-search.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { literal, quoted, runSql } from '../../../api/sql.ts'
import { type Judgments, tableOf } from '../judgments/judgments.ts'

export interface EvaluationSetting {
  /** Another one of the project that holds the same documents; null: the one that is looked at. */
  readonly knowledgeBase: string | null
  readonly mode: SearchMode
  /** null: as it fits the text. */
  readonly alpha: number | null
  readonly fusion: Fusion | null
  readonly reranks: boolean
}

export const DEFAULT_SETTING: EvaluationSetting = {
  knowledgeBase: null,
  mode: 'hybrid',
  alpha: null,
  fusion: null,
  reranks: false,
}

export const K_MAX = 20

/** One question: a number for each k from 1 on. */
export interface Measured {
  readonly question: string
  readonly ndcg: readonly number[]
  readonly recall: readonly number[]
  /** Where the first right document stands; null: not among the first `K_MAX`. */
  readonly firstRank: number | null
}

export interface Evaluated {
  readonly setting: EvaluationSetting
  /** Questions with a right document, in the order of the table. */
  readonly questions: readonly Measured[]
  /** As where the reranking model failed, and something else was measured. */
  readonly warnings: readonly string[]
  readonly meanSeconds: number
  /** When it was over, as ISO 8601 writes it. */
  readonly measuredAt: string
}

interface EvaluationOrder {
  readonly place: KnowledgeBaseName
  readonly setting: EvaluationSetting
  readonly judgments: Judgments
}

/** @throws ApiError */
export async function evaluated(
  { place, setting, judgments }: EvaluationOrder,
  signal: AbortSignal,
): Promise<Evaluated> {
  const { rows, columns, warnings } = await runSql({
    sql: evaluateStatement(place, setting),
    project: place.project,
    signal,
  })
  const at = (column: string) => columns.indexOf(column)
  const [question, found, seconds] = [at('question'), at('found_documents'), at('query_time')]
  const grades = gradesOf(judgments)
  const questions = rows.flatMap((row) => {
    const asked = String(row[question])
    const documents: unknown = JSON.parse(String(row[found]))
    const ranking = Array.isArray(documents) ? documents.map(String) : []
    const measured = measuredOf(ranking, grades.get(asked) ?? new Map())
    return measured === null ? [] : [{ question: asked, ...measured }]
  })
  const totalSeconds = rows.reduce((sum, row) => sum + Number(row[seconds]), 0)
  const meanSeconds = totalSeconds / (rows.length || 1)
  return { setting, questions, warnings, meanSeconds, measuredAt: new Date().toISOString() }
}

function gradesOf(judgments: Judgments) {
  const grades = new Map<string, Map<string, number>>()
  for (const { question, document, grade } of judgments) {
    const known = grades.get(question) ?? new Map<string, number>()
    grades.set(question, known.set(document, grade ?? 0))
  }
  return grades
}

function evaluateStatement(place: KnowledgeBaseName, setting: EvaluationSetting): string {
  const { knowledgeBase, mode, alpha, fusion, reranks } = setting
  const isHybrid = mode === 'hybrid'
  const options = [
    `test_table = ${literal(tableOf(place))}`,
    `version = 'judgments'`,
    `per_question = true`,
    `k = ${K_MAX}`,
    `mode = '${mode}'`,
    ...(isHybrid && alpha !== null ? [`alpha = ${alpha}`] : []),
    ...(isHybrid && fusion !== null ? [`fusion = ${literal(fusion)}`] : []),
    `reranking = ${reranks}`,
  ]
  const kb = `${quoted(place.project)}.${quoted(knowledgeBase ?? place.name)}`
  return `EVALUATE KNOWLEDGE_BASE ${kb} USING ${options.join(', ')}`
}

/** nDCG with linear gains and recall, as EVALUATE computes them, for each k; null: no document is right. */
export function measuredOf(
  ranking: readonly string[],
  grades: ReadonlyMap<string, number>,
): Omit<Measured, 'question'> | null {
  const best = [...grades.values()].filter((grade) => grade > 0).sort((one, other) => other - one)
  if (best.length === 0) return null
  const ndcg: number[] = []
  const recall: number[] = []
  let firstRank: number | null = null
  let [gain, bestGain, hits] = [0, 0, 0]
  for (let index = 0; index < K_MAX; index += 1) {
    const grade = Math.max(0, grades.get(ranking[index] ?? '') ?? 0)
    const discount = Math.log2(index + 2)
    gain += grade / discount
    bestGain += (best[index] ?? 0) / discount
    if (grade > 0) {
      hits += 1
      firstRank ??= index + 1
    }
    ndcg.push(gain / bestGain)
    recall.push(hits / best.length)
  }
  return { ndcg, recall, firstRank }
}

export type Metric = 'ndcg' | 'recall'

/** The mean over all questions, for each k. */
export function meanOf(questions: readonly Measured[], metric: Metric): readonly number[] {
  return Array.from({ length: K_MAX }, (_, index) => {
    const sum = questions.reduce((total, one) => total + (one[metric][index] ?? 0), 0)
    return sum / (questions.length || 1)
  })
}
