/** SQL over the rows of an evaluation, which it reads from `answers`. */
import type { EvaluationVersion } from './evaluate-options.ts'
import script from './summaries.sql' with { type: 'text' }

const SELECTS: ReadonlyMap<string, string> = new Map(
  script.split(/;\n/).flatMap((text) => {
    const [, name, sql = ''] = /-- (\w+)\n(SELECT[\s\S]*)$/.exec(text) ?? []
    return name === undefined ? [] : [[name, sql] as const]
  }),
)

function named(name: string): string {
  const sql = SELECTS.get(name)
  if (sql === undefined) throw new Error(`summaries.sql has no ${name}`)
  return sql
}

/** The means over the questions of one version, with its parameters `k` and `unknown`. */
export const MEANS: Readonly<Record<EvaluationVersion, string>> = {
  judgments: named('judgments'),
  doc_id: named('doc_id'),
  llm_relevancy: named('llm_relevancy'),
}

/** One row for each setting of an agent. */
export const SUMMARY = named('agent')
