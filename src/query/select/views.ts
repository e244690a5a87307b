import { type CatalogSnapshot, requireProject } from '../../core/domain/access/catalog-snapshot.ts'
import type { RelationColumn, View } from '../../core/domain/names.ts'
import { checkedName, nameKey, quote } from '../../core/domain/names.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import { withNativeTexts } from '../../sql/lexer/database-names.ts'
import { planDescribed } from './plan-described.ts'
import { type QueryDeps, runLimits, withoutModelCalls } from './query-deps.ts'
import { runSelect, type SelectRequest, withBoundSelect } from './run-select.ts'

export interface NewView extends Pick<View, 'name' | 'sql' | 'database'> {
  readonly project: string
  /** Whether an existing view of that name gets this definition. */
  readonly orReplace?: boolean
}

/** @throws AppError `relation_exists`, `invalid_name`, `project_not_found`; errors of its SELECT */
export async function createView(
  { project: projectName, name, sql: sent, database, orReplace = false }: NewView,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<View> {
  const sql = withNativeTexts(sent)
  const project = requireProject(deps.catalog.snapshot(), projectName)
  const definition = { projectId: project.id, name: checkedName('view', name), sql, database }
  const columns = await describeSelect({ sql, database }, deps, signal)
  await checkReadable({ ...definition, projectName: project.name }, deps, signal)
  return deps.catalog.createView({ ...definition, columns }, orReplace)
}

export async function alterView(
  view: View,
  { sql: sent, database }: Pick<NewView, 'sql' | 'database'>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<View> {
  const sql = withNativeTexts(sent)
  const columns = await describeSelect({ sql, database }, deps, signal)
  await checkReadable({ ...view, sql, database }, deps, signal)
  return deps.catalog.alterView(view, { sql, database, columns })
}

type Definition = Pick<View, 'projectId' | 'projectName' | 'name' | 'sql' | 'database'>

/** As if it were stored. This detects cycles and too many levels. */
async function checkReadable(
  view: Definition,
  { catalog, planner, sources }: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  const sql = `SELECT * FROM ${quote(view.projectName)}.${quote(view.name)}`
  const snapshot = withView(catalog.snapshot(), view)
  const request = { sql, database: view.projectName }
  await planDescribed(request, snapshot, { planner, sources }, signal)
}

function withView(snapshot: CatalogSnapshot, view: Definition): CatalogSnapshot {
  const others = snapshot.views.filter((other) => {
    return other.projectId !== view.projectId || nameKey(other.name) !== nameKey(view.name)
  })
  const stored = { ...view, id: 0, columns: [], createdAt: '', updatedAt: '' }
  return { ...snapshot, views: [...others, stored] }
}

/** Runs nothing, asks no agent. @throws AppError like running it; for parameters */
export async function describeSelect(
  { sql, database }: Pick<NewView, 'sql' | 'database'>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly RelationColumn[]> {
  const request = { sql, database, params: {}, isDescribed: true }
  try {
    return await withBoundSelect(request, withoutModelCalls(deps), signal, async (bound) => {
      const { statement } = bound
      const empty = { ...statement, sql: `SELECT * FROM (${statement.sql}) LIMIT 0` }
      const { columns, batches } = await deps.engine.run(empty, runLimits(deps), signal)
      // Reading to the end frees the connection.
      for await (const _ of batches);
      return columns.map(({ name, type }) => ({ name, type }))
    })
  } catch (error) {
    if (!hasCode(error, 'sql_missing_parameter')) throw error
    const message = `${error.message}: what is stored has no parameters`
    throw new AppError('sql_not_supported', message, { cause: error })
  }
}

/** Its errors have no positions, which would not refer to the client's text. */
export async function runComposedSelect(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<RowStream> {
  return composing(() => runSelect(request, deps, signal))
}

export async function composing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, title, cause } = error
    throw new AppError(code, withoutPlace(error.message), { title, cause })
  }
}

/** Puts an expression in parentheses, so it stays one expression. The line break ends a comment. */
export function enclosed(expression: string): string {
  return `(${expression}\n)`
}

/** Matches DuckDB's message: the position, the error, then the line and a caret. */
const PLACED = /^line \d+, column (\d+): ([^\n]*)[\s\S]*$/

function withoutPlace(message: string): string {
  const [, column, text] = PLACED.exec(message) ?? []
  if (text === undefined) return message
  const isOurParenthesis = column === '1' && text.endsWith('at or near ")"')
  return isOurParenthesis ? 'syntax error at the end of the expression' : text
}
