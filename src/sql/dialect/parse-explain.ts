import type { StatementReader } from './statement-reader.ts'

export interface ExplainStatement {
  readonly kind: 'explain'
  /** True for EXPLAIN ANALYZE, which runs the SELECT and says where its time went. */
  readonly isAnalyzed: boolean
  /** `json`: the plan as a tree, for programs. */
  readonly format: 'text' | 'json'
  /** The SELECT as it was written. */
  readonly select: string
}

/** `EXPLAIN [ANALYZE] SELECT …`, or with options as DuckDB and PostgreSQL write them: `EXPLAIN (ANALYZE, FORMAT JSON) SELECT …`. */
export function explainStatement(read: StatementReader): ExplainStatement | undefined {
  if (!read.takeWords('explain')) return undefined
  const hasOptions = read.isAt('(') && ['analyze', 'format'].includes(read.peekWord(1) ?? '')
  const { isAnalyzed, format } = hasOptions
    ? explainOptions(read)
    : { isAnalyzed: read.takeWords('analyze'), format: 'text' as const }
  return { kind: 'explain', isAnalyzed, format, select: read.restAsSelect() }
}

function explainOptions(read: StatementReader): Pick<ExplainStatement, 'isAnalyzed' | 'format'> {
  let isAnalyzed = false
  let format: ExplainStatement['format'] = 'text'
  read.expectSymbol('(')
  do {
    if (read.takeWords('analyze')) isAnalyzed = true
    else {
      read.expectWord('format')
      if (read.takeWords('json')) format = 'json'
      else {
        read.expectWord('text')
        format = 'text'
      }
    }
  } while (read.takeSymbol(','))
  read.expectSymbol(')')
  return { isAnalyzed, format }
}
