/** SQL over the rows of an evaluation, which it reads from `answers`. */
import { selectsOf } from '../information-schema/schema-table.ts'
import type { EvaluationVersion } from './evaluate-options.ts'
import script from './summaries.sql' with { type: 'text' }

const named = selectsOf(script)

/** The means over the questions of one version, with its parameters `k` and `unknown`. */
export const MEANS: Readonly<Record<EvaluationVersion, string>> = {
  judgments: named('judgments'),
  doc_id: named('doc_id'),
  llm_relevancy: named('llm_relevancy'),
}

/** One row for each setting of an agent. */
export const SUMMARY = named('agent')
