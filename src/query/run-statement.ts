import type { QueryResult } from '../domain/query-result.ts'
import type { EvaluateAgentStatement, EvaluateStatement } from '../sql/dialect/parse-evaluate.ts'
import type { Statement } from '../sql/dialect/parse-statement.ts'
import { runEvaluateStatement } from './evaluate/run-evaluate.ts'
import type { QueryDeps } from './query-deps.ts'
import { runQueryControl } from './rows/background-insert.ts'
import { runRowStatement } from './rows/run-row-statement.ts'
import { runShowStatement } from './show/run-show.ts'
import type { StatementRequest } from './statement-request.ts'
import { isOfAccess, runAccessStatement } from './statements/run-access.ts'
import {
  runAgentStatement,
  runDatabaseStatement,
  runJobStatement,
} from './statements/run-definition.ts'
import { runExplainStatement } from './statements/run-explain.ts'
import { runIndexStatement } from './statements/run-index.ts'
import { runKnowledgeBaseStatement, runSourceStatement } from './statements/run-knowledge-base.ts'
import { runSessionStatement } from './statements/run-session.ts'
import { runTableStatement } from './statements/run-table.ts'
import { runViewStatement } from './statements/run-view.ts'

/** Runs one of the dialect's own statements. */
export async function runStatement(
  request: StatementRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement } = request
  if (isEvaluation(statement)) return runEvaluateStatement({ ...request, statement }, deps, signal)
  if (isOfAccess(statement)) return runAccessStatement({ ...request, statement }, deps, signal)
  switch (statement.kind) {
    case 'create_knowledge_base':
    case 'alter_knowledge_base':
    case 'drop_knowledge_base':
    case 'describe_knowledge_base':
      return runKnowledgeBaseStatement({ ...request, statement }, deps, signal)
    case 'sources':
      return runSourceStatement({ ...request, statement }, deps)
    case 'create_index':
    case 'drop_index':
    case 'show_indexes':
      return runIndexStatement({ ...request, statement }, deps, signal)
    case 'create_agent':
    case 'alter_agent':
    case 'drop_agent':
    case 'describe_agent':
      return runAgentStatement({ ...request, statement }, deps)
    case 'create_database':
    case 'alter_database':
    case 'drop_database':
    case 'describe_database':
      return runDatabaseStatement({ ...request, statement }, deps)
    case 'create_job':
    case 'drop_job':
      return runJobStatement({ ...request, statement }, deps)
    case 'create_view':
    case 'alter_view':
    case 'drop_view':
      return runViewStatement({ ...request, statement }, deps, signal)
    case 'create_table':
    case 'alter_table':
    case 'drop_table':
    case 'vacuum':
      return runTableStatement({ ...request, statement }, deps, signal)
    case 'query_cancel':
    case 'query_resume':
      return runQueryControl({ ...request, statement }, deps, signal)
    case 'insert':
    case 'update':
    case 'delete':
    case 'truncate':
      return runRowStatement({ ...request, statement }, deps, signal)
    case 'show':
    case 'show_create':
    case 'describe':
      return runShowStatement({ ...request, statement }, deps, signal)
    case 'explain':
      return runExplainStatement({ ...request, statement }, deps, signal)
    default:
      return runSessionStatement({ ...request, statement }, deps, signal)
  }
}

type Evaluation = EvaluateAgentStatement | EvaluateStatement

function isEvaluation(statement: Statement): statement is Evaluation {
  return statement.kind === 'evaluate_agent' || statement.kind === 'evaluate_knowledge_base'
}
