import {
  findIn,
  ofProject,
  refuseToWrite,
  requireProject,
} from '../../core/domain/access/catalog-snapshot.ts'
import {
  type CellValue,
  type ChunkChange,
  embeddedText,
  shownValue,
} from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import {
  DEFAULT_CONTENT_COLUMNS,
  type KnowledgeBase,
  withModelInForce,
} from '../../core/domain/knowledge-base.ts'
import {
  FILES_DATABASE,
  nameKey,
  type Project,
  type ProjectTable,
  quote,
} from '../../core/domain/names.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { didYouMean, nearestName } from '../../core/short-text.ts'
import { cutTexts } from '../../ingest/chunking/chunker.ts'
import { embedTexts } from '../../ingest/pipeline/embed-documents.ts'
import { type NewTexts, replaceTexts } from '../../ingest/pipeline/replace-texts.ts'
import { caretAt } from '../../sql/ast/placed-error.ts'
import type { RowStatement } from '../../sql/dialect/parse-rows.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { isName } from '../../sql/lexer/tokens.ts'
import { CHUNK_KEY } from '../../sql/search/ranking.ts'
import { INFORMATION_SCHEMA } from '../information-schema/information-schema.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type {
  KnowledgeBaseRequest,
  Outcome,
  StatementRequest,
} from '../select/statement-request.ts'
import { runComposedSelect } from '../select/views.ts'
import {
  type AssignedValues,
  assignedValues,
  assignmentTargets,
  dialectTokens,
} from './assignments.ts'
import { isInBackground, runWaitedInsert, startBackgroundInsert } from './background-insert.ts'
import { changeTableRows } from './change-table-rows.ts'

/**
 * Runs INSERT, UPDATE and DELETE. `affected_rows` counts documents, or changed or deleted chunks.
 */
export async function runRowStatement(
  request: StatementRequest<RowStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { statement, db } = request
  const { project, table, kb } = changeable(statement.table, db, deps)
  if (table !== undefined) return changeTableRows({ ...request, project }, deps, signal)
  refuseForKnowledgeBase(statement)
  switch (statement.kind) {
    case 'insert':
      if (isInBackground(statement)) {
        return startBackgroundInsert({ ...request, statement, kb }, deps, signal)
      }
      return runWaitedInsert({ ...request, statement, kb }, deps, signal)
    case 'update':
      return { affectedRows: await updateRows({ ...request, statement, kb }, deps, signal) }
    case 'delete':
      return { affectedRows: await deleteRows({ ...request, statement, kb }, deps, signal) }
    case 'truncate':
      throw new AppError('sql_not_supported', `TRUNCATE is for tables; use DELETE FROM ${kb.name}`)
  }
}

/** @throws AppError `sql_not_supported` for clauses that only tables support */
function refuseForKnowledgeBase(statement: RowStatement): void {
  const isOfTable =
    statement.kind === 'insert'
      ? statement.ofTable !== undefined
      : statement.kind !== 'truncate' && (statement.from ?? statement.returning) !== null
  if (!isOfTable) return
  const parts = 'RETURNING, ON CONFLICT, FROM, USING and aliases of an INSERT'
  const message = `${parts} are for tables, and ${statement.table.name} is a knowledge base`
  throw new AppError('sql_not_supported', message)
}

/** Deletes the chunks that the WHERE matched. @returns how many of them still existed */
async function deleteRows(
  request: KnowledgeBaseRequest<Extract<RowStatement, { kind: 'delete' }>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<number> {
  const keys: bigint[] = []
  for await (const chunks of matchingChunks(request, deps, signal)) {
    for (const { chunkKey } of chunks) keys.push(chunkKey)
  }
  return keys.length === 0 ? 0 : deps.chunks.removeChunks(request.kb, keys)
}

type Changeable = { readonly project: Project } & (
  | { readonly table: ProjectTable; readonly kb?: undefined }
  | { readonly table?: undefined; readonly kb: KnowledgeBase }
)

/** @throws AppError `project_not_found`, `knowledge_base_not_found`, `sql_not_supported` */
function changeable(
  { project: qualifier, name }: QualifiedName,
  db: string,
  deps: QueryDeps,
): Changeable {
  const snapshot = deps.catalog.snapshot()
  const database = qualifier ?? db
  if (nameKey(database) === FILES_DATABASE) throw notChangeable(`${FILES_DATABASE}.${name}`)
  if (nameKey(database) === INFORMATION_SCHEMA) throw notChangeable(`${database}.${name}`)
  refuseToWrite(snapshot, database)
  const project = requireProject(snapshot, database)
  const kb = findIn(snapshot.knowledgeBases, project, name)
  if (kb !== undefined) return { project, kb }
  const table = findIn(snapshot.tables, project, name)
  if (table !== undefined) return { project, table }
  const other = findIn([...snapshot.views, ...snapshot.agents], project, name)
  if (other !== undefined) throw notChangeable(name)
  const known = [
    ...ofProject(snapshot.knowledgeBases, project),
    ...ofProject(snapshot.tables, project),
  ]
  const names = known.map((one) => one.name)
  const hint = didYouMean(nearestName(name, names))
  const message = `Knowledge base does not exist: ${name}${hint}`
  throw new AppError('knowledge_base_not_found', message)
}

function notChangeable(name: string): AppError {
  const message = `"${name}" is not a knowledge base or table: only those have rows to change`
  return new AppError('sql_not_supported', message)
}

type Update = Extract<RowStatement, { kind: 'update' }>

/**
 * Computes new values with a SELECT and applies them to the chunks it found. Metadata changes in
 * place. New content replaces one chunk if the WHERE names `chunk_id`; otherwise the whole document
 * is re-chunked and embedded.
 * @returns how many chunks changed, or how many the changed documents have now
 * @throws AppError `sql_not_supported` for a column that cannot be set, `insert_failed` for content
 * that cannot be stored
 */
async function updateRows(
  request: KnowledgeBaseRequest<Update>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<number> {
  const { statement, kb } = request
  const targets = assignmentTargets(statement, kb)
  if (targets.every((target) => target.kind !== 'content')) {
    const changes: ChunkChange[] = []
    for await (const { chunkKey, metadata } of assignedChunks(request, deps, signal)) {
      changes.push({ chunkKey, metadata })
    }
    return changes.length === 0 ? 0 : deps.chunks.changeChunks(kb, changes)
  }
  const isOfChunks = statement.where !== null && columnNamesIn(statement.where).includes('chunk_id')
  const update = isOfChunks ? updateChunks : updateDocuments
  return update(request, deps, signal)
}

/** Yields the matching chunks with their new values, and the values of other expressions. */
async function* assignedChunks(
  request: KnowledgeBaseRequest<Update>,
  deps: QueryDeps,
  signal: AbortSignal,
  others: readonly string[] = [],
): AsyncGenerator<
  AssignedValues & {
    readonly chunkKey: bigint
    readonly others: readonly ResultValue[]
  },
  void
> {
  const { statement, kb } = request
  const targets = assignmentTargets(statement, kb)
  const expressions = [...others, ...statement.assignments.map(({ value }) => value)]
  for await (const chunks of matchingChunks(request, deps, signal, expressions)) {
    for (const { chunkKey, values } of chunks) {
      const own = assignedValues(targets, values.slice(others.length), kb)
      yield { ...own, chunkKey, others: values.slice(0, others.length).map(shownValue) }
    }
  }
}

/** Updates single chunks. Each keeps its `chunk_id`, and only changed text is embedded. */
async function updateChunks(
  request: KnowledgeBaseRequest<Update>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<number> {
  const { kb } = request
  const changes: (Omit<ChunkChange, 'content'> & { readonly text: string | undefined })[] = []
  const others = ['chunk_content', "metadata->>'content_column'"]
  for await (const chunk of assignedChunks(request, deps, signal, others)) {
    const [oldText, column] = chunk.others
    const newText = textFor(String(column), chunk, kb)
    const text = newText === oldText ? undefined : newText
    if (newText === undefined && Object.keys(chunk.metadata).length === 0) continue
    changes.push({ chunkKey: chunk.chunkKey, metadata: chunk.metadata, text })
    refuseTooMany(changes.length)
  }
  if (changes.length === 0) return 0
  const withText = changes.flatMap(({ chunkKey, text }) => (text === undefined ? [] : [chunkKey]))
  const contexts = await deps.chunks.contextsOf(kb, withText)
  const embeddedOf = ({ chunkKey, text = '' }: { chunkKey: bigint; text: string | undefined }) => {
    return embeddedText({ context: contexts.get(chunkKey) ?? '', content: text })
  }
  const texts = new Set(changes.filter(({ text }) => text !== undefined).map(embeddedOf))
  return withModelInForce(kb, async (inForce) => {
    const embedder = deps.embedders.embedder(inForce.embeddingModel)
    const vectors = await embedTexts(texts, embedder, signal)
    const cut = await cutTexts([...texts], { kb: inForce, ...deps }, signal)
    const stored = changes.map(({ text, ...change }): ChunkChange => {
      const embedded = embeddedOf({ ...change, text })
      const vector = text === undefined ? undefined : vectors.get(embedded)
      if (text === undefined || vector === undefined) return change
      const context = contexts.get(change.chunkKey) ?? ''
      return { ...change, content: { text, vector, context, isCut: cut.has(embedded) } }
    })
    return deps.chunks.changeChunks(inForce, stored)
  })
}

/** Returns the new text for the chunk's column, or undefined if it does not change. */
function textFor(column: string, { texts }: AssignedValues, kb: KnowledgeBase): string | undefined {
  // The columns may have changed since the chunk was stored. If there is only one now, the chunk
  // belongs to it.
  const isOnly = (kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS).length === 1
  const found = [...texts].find(([name]) => isOnly || nameKey(name) === nameKey(column))
  return found?.[1]
}

/** Updates whole documents. All matching chunks of a document must get the same values. */
async function updateDocuments(
  request: KnowledgeBaseRequest<Update>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<number> {
  const { kb } = request
  const documents = new Map<string, NewTexts>()
  for await (const { others, texts, metadata } of assignedChunks(request, deps, signal, ['id'])) {
    const documentId = String(others[0])
    const known = documents.get(documentId)
    if (known === undefined) documents.set(documentId, { documentId, texts, metadata })
    else if (!areSameValues(known, { texts, metadata })) {
      const how = 'name the chunk by chunk_id in WHERE'
      const message = `The chunks of document ${documentId} get different values; ${how}`
      throw new AppError('insert_failed', message)
    }
    refuseTooMany(documents.size)
  }
  if (documents.size === 0) return 0
  return replaceTexts({ kb, changes: [...documents.values()] }, deps, signal)
}

function areSameValues(first: AssignedValues, second: AssignedValues): boolean {
  const isTextSame = [...first.texts].every(([column, text]) => second.texts.get(column) === text)
  return isTextSame && JSON.stringify(first.metadata) === JSON.stringify(second.metadata)
}

function refuseTooMany(count: number): void {
  if (count <= INGEST_LIMITS.sourceChunksMax) return
  const limit = `New content is for at most ${INGEST_LIMITS.sourceChunksMax} rows at once`
  throw new AppError('insert_failed', `${limit}; narrow the WHERE`)
}

type Changing = Extract<RowStatement, { kind: 'update' | 'delete' }>

/**
 * Finds the chunks with an ordinary SELECT, so that WHERE means the same as there. Only these
 * chunks are changed, even if others are written in the meantime.
 * @param expressions SQL over the chunk's columns
 * @throws AppError `sql_invalid_search` for a search without a threshold, and like the SELECT
 */
async function* matchingChunks(
  { statement, kb, db, params }: KnowledgeBaseRequest<Changing>,
  deps: QueryDeps,
  signal: AbortSignal,
  expressions: readonly string[] = [],
): AsyncGenerator<
  readonly {
    readonly chunkKey: bigint
    readonly values: readonly CellValue[]
  }[],
  void
> {
  const { where, alias } = statement
  for (const sql of [...expressions, where ?? '']) refuseOtherParts(sql)
  if (where !== null) refuseSearchAlone(where)
  const list = [CHUNK_KEY, ...expressions.map((sql, index) => `(${sql}\n) AS "${VALUE}${index}"`)]
  const name = `${quote(kb.projectName)}.${quote(kb.name)}`
  const from = alias === null ? name : `${name} AS ${quote(alias)}`
  const condition = where === null ? '' : ` WHERE (${where}\n)`
  // A search in a nested SELECT has no implied LIMIT.
  const sql = `SELECT * FROM (SELECT ${list.join(', ')} FROM ${from}${condition})`
  const request = { sql, database: db, params, readsChunkKeys: true }
  const { batches, typedBatches = batches } = await runComposedSelect(request, deps, signal)
  for await (const batch of typedBatches) {
    yield batch.map(([key = null, ...values]) => {
      return { chunkKey: BigInt(String(shownValue(key))), values }
    })
  }
}

const VALUE = '__value_'

/** SQL in parentheses must not close them. Only the outer SELECT may name chunk keys. */
function refuseOtherParts(sql: string): void {
  let depth = 0
  for (const { text, value, start } of dialectTokens(sql)) {
    if (text === '(') depth += 1
    if (text === ')') depth -= 1
    if (value.toLowerCase() === CHUNK_KEY) {
      throw new AppError('sql_unknown_name', `Column "${CHUNK_KEY}" does not exist`)
    }
    if (depth >= 0) continue
    throw new AppError('sql_syntax', 'a parenthesis is closed that was not opened', {
      excerpt: caretAt(sql, start),
    })
  }
}

/** `content = '…'` alone ranks without excluding, so all chunks would be affected. */
function refuseSearchAlone(where: string): void {
  const words = new Set(columnNamesIn(where))
  if (!words.has('content') || words.has('relevance') || words.has('distance')) return
  const how = "add a threshold: content = '…' AND relevance >= 0.8"
  const message = `content ranks and does not filter, so this would affect every row; ${how}`
  throw new AppError('sql_invalid_search', message)
}

const QUERY_WORDS = new Set(['select', 'with', 'from', 'values'])

/** Returns the column names in a condition in lower case, without those in subqueries. */
function columnNamesIn(sql: string): readonly string[] {
  const tokens = dialectTokens(sql)
  const names: string[] = []
  // For each open parenthesis, whether it belongs to a subquery.
  const open: boolean[] = []
  for (const [index, token] of tokens.entries()) {
    const { text, value } = token
    const isWithin = open.at(-1) === true
    if (text === '(') {
      open.push(isWithin || QUERY_WORDS.has(tokens[index + 1]?.text.toLowerCase() ?? ''))
    } else if (text === ')') open.pop()
    else if (isName(token) && !isWithin) names.push(value.toLowerCase())
  }
  return names
}
