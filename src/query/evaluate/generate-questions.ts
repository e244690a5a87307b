import { createHash } from 'node:crypto'
import { quote } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ResultColumn } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { type Parameters, runSelect } from '../select/run-select.ts'
import { runComposedSelect } from '../select/views.ts'
import type { EvaluationVersion, GenerationOptions } from './evaluate-options.ts'
import { type EvaluationModel, MODEL_CALLS_AT_ONCE } from './evaluation-model.ts'
import { type EvaluationTable, evaluationTable } from './evaluation-table.ts'
import { questionPrompt } from './metrics/evaluation-prompts.ts'

/** Rows of `from_sql` that the texts are chosen from. */
const SOURCE_ROWS_MAX = 10_000
/** Extra texts, in the place of those that the model writes no question for. */
const SPARE_TEXTS = 5

export interface GenerationRequest {
  readonly kb: KnowledgeBase
  readonly version: EvaluationVersion
  readonly options: GenerationOptions
  readonly db: string
  readonly params: Parameters
}

interface SourceText {
  /** Of its document; null: the source has no ids. */
  readonly id: string | null
  readonly text: string
}

/**
 * Questions that a model writes for some of the texts, each with its answer and the id of its document.
 * @throws AppError `invalid_request` for a source without texts or columns, `provider_failed`
 */
export async function generateQuestions(
  request: GenerationRequest,
  { model, deps }: { readonly model: EvaluationModel; readonly deps: QueryDeps },
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const { options, version } = request
  const seed = options.seed ?? crypto.randomUUID()
  const texts =
    options.fromSql === null
      ? await chunkTexts({ ...request, seed }, deps, signal)
      : await selectedTexts({ ...request, seed, fromSql: options.fromSql }, deps, signal)
  if (texts.length === 0) {
    const source = options.fromSql === null ? `Knowledge base ${request.kb.name}` : 'from_sql'
    throw new AppError('invalid_request', `${source} has no text to make questions of`)
  }
  const made = await questionsOf(texts, { model, count: options.count }, signal)
  const idColumn = version === 'doc_id' ? 'doc_id' : 'id'
  const types = { text: 'VARCHAR', question: 'VARCHAR', answer: 'VARCHAR', [idColumn]: 'VARCHAR' }
  return evaluationTable(
    types,
    made.map(({ id, text, question, answer }, index) => {
      return { text, question, answer, [idColumn]: id ?? String(index + 1) }
    }),
  )
}

type MadeQuestion = SourceText & { readonly question: string; readonly answer: string }

/** Continues with the spare texts where the model writes no question for one. */
async function questionsOf(
  texts: readonly SourceText[],
  { model, count }: { readonly model: EvaluationModel; readonly count: number },
  signal: AbortSignal,
): Promise<readonly MadeQuestion[]> {
  const made: MadeQuestion[] = []
  const remaining = [...texts]
  while (made.length < count && remaining.length > 0) {
    const round = remaining.splice(0, count - made.length)
    const bounds = { concurrencyMax: MODEL_CALLS_AT_ONCE, signal }
    const questions = await mapConcurrent(round, bounds, async (source, lane) => {
      const question = await model.ask(questionPrompt(source.text), lane)
      return question === null ? null : { ...source, ...question }
    })
    made.push(...questions.filter((question) => question !== null))
  }
  if (made.length > 0) return made
  throw new AppError('provider_failed', 'The model made no question of any text')
}

type SeededRequest = GenerationRequest & { readonly seed: string }

/** A sample of all chunks: those whose hash with the seed is the smallest. */
async function chunkTexts(
  { kb, options, seed }: SeededRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly SourceText[]> {
  const sql = `SELECT id, chunk_content FROM ${quote(kb.projectName)}.${quote(kb.name)}
    WHERE trim(chunk_content) <> '' ORDER BY md5(concat(:seed, chunk_id)), chunk_id
    LIMIT ${options.count + SPARE_TEXTS}`
  const request = { sql, database: kb.projectName, params: { seed } }
  const { batches } = await runComposedSelect(request, deps, signal)
  const texts: SourceText[] = []
  for await (const batch of batches) {
    texts.push(...batch.map(([id, text]) => ({ id: String(id), text: String(text) })))
  }
  return texts
}

/** A sample of the first rows of a SELECT, whatever their order. */
async function selectedTexts(
  { version, options, seed, db, params, fromSql }: SeededRequest & { readonly fromSql: string },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly SourceText[]> {
  const { columns, batches } = await runSelect({ sql: fromSql, database: db, params }, deps, signal)
  const rows: SourceText[] = []
  const iterator = batches[Symbol.asyncIterator]()
  try {
    const { content, id } = sourceColumns(columns, version)
    for (let read = 0; read < SOURCE_ROWS_MAX; ) {
      const { value: batch, done } = await iterator.next()
      if (done === true) break
      read += batch.length
      for (const values of batch) {
        const text = chunkText(values[content])
        if (text.trim() === '') continue
        const documentId = id === -1 ? null : chunkText(values[id])
        rows.push({ id: documentId === '' ? null : documentId, text })
      }
    }
  } finally {
    await iterator.return?.()
  }
  return chosen(rows, { seed, count: options.count + SPARE_TEXTS })
}

function chunkText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** @throws AppError `invalid_request` naming what is missing and what there is */
function sourceColumns(
  columns: readonly ResultColumn[],
  version: EvaluationVersion,
): { readonly content: number; readonly id: number } {
  const place = (name: string) => columns.findIndex((column) => column.name.toLowerCase() === name)
  const content = place('content') === -1 ? place('chunk_content') : place('content')
  const id = place('id')
  const needsId = version === 'doc_id'
  if (content !== -1 && (id !== -1 || !needsId)) return { content, id }
  const needed = needsId ? 'the columns id and content' : 'a column content'
  const has = columns.map(({ name }) => name).join(', ')
  throw new AppError('invalid_request', `from_sql must give ${needed}; it gives ${has}`)
}

function chosen(
  rows: readonly SourceText[],
  { seed, count }: { readonly seed: string; readonly count: number },
): readonly SourceText[] {
  const keyed = rows.map((row) => {
    const key = createHash('md5')
      .update(JSON.stringify([seed, row.id, row.text]))
      .digest('hex')
    return { key, row }
  })
  keyed.sort((first, second) => (first.key < second.key ? -1 : 1))
  return keyed.slice(0, count).map(({ row }) => row)
}
