import { createHash } from 'node:crypto'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { BUILTIN_PROVIDER, chatOptionsOf, type ModelRef } from '../../core/domain/model-ref.ts'
import { quote } from '../../core/domain/names.ts'
import { type ChatModel, replyText } from '../../core/domain/ports/model-ports.ts'
import type { ResultColumn } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { textOfValue } from '../../core/json.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { type Fields, modelRefOf, refuseOptions } from '../definitions/fields.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { type Parameters, runSelect } from '../select/run-select.ts'
import { runComposedSelect } from '../select/views.ts'
import type { EvaluationVersion, GenerationOptions } from './evaluate-options.ts'
import { type EvaluationPrompt, questionPrompt } from './evaluation-prompts.ts'
import type { EvaluationTable } from './evaluation-table.ts'

/** Read this many rows of `from_sql` to choose texts from. */
const SOURCE_ROWS_MAX = 10_000
/** Extra texts, in case the model writes no question for some of them. */
const SPARE_TEXTS = 5

interface GenerationRequest {
  readonly kb: KnowledgeBase
  readonly version: EvaluationVersion
  readonly options: GenerationOptions
  readonly db: string
  readonly params: Parameters
}

interface SourceText {
  /** The id of the text's document; null if the source has none. */
  readonly id: string | null
  readonly text: string
}

/** @throws AppError `invalid_request` if the source has no texts or lacks a column */
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
  const rows = made.map(({ id, text, question, answer }, index) => {
    return { text, question, answer, [idColumn]: id ?? String(index + 1) }
  })
  return { types, rows }
}

type MadeQuestion = SourceText & { readonly question: string; readonly answer: string }

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
  throw new AppError('provider_failed', 'The model did not write a question for any text')
}

type SeededRequest = GenerationRequest & { readonly seed: string }

/** Samples chunks: those with the smallest hash of key and seed. */
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
  const rows = (await Array.fromAsync(batches)).flat()
  return rows.map(([id, text]) => ({ id: String(id), text: String(text) }))
}

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
        const text = textOfValue(values[content])
        if (text.trim() === '') continue
        const documentId = id === -1 ? null : textOfValue(values[id])
        rows.push({ id: documentId === '' ? null : documentId, text })
      }
    }
  } finally {
    await iterator.return?.()
  }
  return chosen(rows, { seed, count: options.count + SPARE_TEXTS })
}

/** @throws AppError `invalid_request` naming the missing columns and the existing ones */
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

/** How many model calls run in parallel. */
export const MODEL_CALLS_AT_ONCE = 8

/** How many unusable replies an evaluation tolerates. */
const BAD_REPLIES_MAX = 5
/** The limit is generous, because some models write long reasoning before a short answer. */
const REPLY_CHARS_MAX = 100_000

/** A chat model for one evaluation. Counts replies that cannot be used. */
export class EvaluationModel {
  readonly #model: ChatModel
  readonly #name: string
  readonly #badRepliesMax: number
  #badReplies = 0

  /**
   * @param name for messages, without secrets @param badRepliesMax how many bad replies to tolerate
   */
  constructor(model: ChatModel, name: string, badRepliesMax = BAD_REPLIES_MAX) {
    this.#model = model
    this.#name = name
    this.#badRepliesMax = badRepliesMax
  }

  get name(): string {
    return this.#name
  }

  /** @returns null for a reply of another form @throws AppError after too many */
  async ask<T>(prompt: EvaluationPrompt<T>, signal: AbortSignal): Promise<T | null> {
    const reply = await replyText(this.#model, prompt, { charsMax: REPLY_CHARS_MAX, signal })
    const said = reply.length > REPLY_CHARS_MAX ? null : prompt.read(reply)
    if (said === null) this.#countBadReply()
    return said
  }

  /** Asks again after a bad reply. @throws AppError like `ask` */
  async askUntilRead<T>(prompt: EvaluationPrompt<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      const said = await this.ask(prompt, signal)
      // Ends at last, because too many bad replies throw an error.
      if (said !== null) return said
    }
  }

  #countBadReply(): void {
    this.#badReplies += 1
    if (this.#badReplies <= this.#badRepliesMax) return
    const found = `${this.#name} gave ${this.#badReplies} replies that are not what was asked for`
    const message = `${found}; at most ${this.#badRepliesMax} are passed over`
    throw new AppError('provider_failed', message)
  }
}

/**
 * Opens the model in the option `llm`. Without it, opens the knowledge base's reranking model if
 * that can chat, or else the model in the settings.
 * @param purpose what the model is for, for the message if there is none
 * @throws AppError `missing_parameter`, `invalid_request`, `unknown_provider`
 */
export async function evaluationModel(
  llm: Fields | null,
  kb: KnowledgeBase,
  deps: QueryDeps,
  purpose: string,
): Promise<EvaluationModel> {
  const ref = llm === null ? defaultRef(kb, deps) : modelRefOf(llm, LLM_FIELDS, kb.rerankingModel)
  if (ref === null || ref.provider === BUILTIN_PROVIDER) throw noModel(purpose)
  if (llm !== null) refuseOptions(llm, chatOptionsOf(ref.provider), LLM_FIELDS.code)
  return openModel(ref, 'llm', deps)
}

/** @param option its name @param badRepliesMax unset: a few @throws AppError */
export async function openModel(
  ref: ModelRef,
  option: string,
  deps: QueryDeps,
  badRepliesMax?: number,
): Promise<EvaluationModel> {
  try {
    const name = `The ${ref.provider} model ${ref.modelName}`
    return new EvaluationModel(await deps.chatModels.chatModel(ref), name, badRepliesMax)
  } catch (error) {
    // The registry's message is about an agent's model, so name the client's option instead.
    if (!(error instanceof AppError) || error.code !== 'invalid_agent') throw error
    throw new AppError('invalid_request', `${option}: ${error.message}`, { cause: error })
  }
}

const LLM_FIELDS = { provider: 'openai', code: 'invalid_request' } as const

function defaultRef(kb: KnowledgeBase, deps: QueryDeps): ModelRef | null {
  const { rerankingModel } = kb
  const isChat = rerankingModel !== null && deps.chatProviders.includes(rerankingModel.provider)
  if (isChat && !NO_WRITERS.has(rerankingModel.provider)) return rerankingModel
  return deps.chatModels.defaultModel
}

/** Providers of rerankers that cannot write text: vLLM, for example, returns scores. */
const NO_WRITERS: ReadonlySet<string> = new Set([BUILTIN_PROVIDER, 'vllm'])

function noModel(purpose: string): AppError {
  const how = [
    'llm = {"provider": "openai", "model_name": "…", "api_key": "…"}',
    'a chat model as reranking_model of the knowledge base',
    'EIDER_CHAT_PROVIDER with EIDER_CHAT_MODEL',
  ]
  const message = `${purpose} needs a language model, which the built-in one is not`
  return new AppError('missing_parameter', `${message}: set ${how.join(', or ')}`)
}
