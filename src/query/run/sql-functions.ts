/** Lists the functions that statements may call, so that editors can complete and explain them. */
import type { ResultValue } from '../../core/domain/query-result.ts'
import {
  isAggregateFunction,
  isScalarFunction,
  isWindowFunction,
} from '../../sql/guard/function-lists.ts'
import { type QueryDeps, runLimits } from '../select/query-deps.ts'

export interface SqlFunction {
  readonly name: string
  readonly kind: 'scalar' | 'aggregate' | 'window'
  /** For example `round(x, precision) → DOUBLE`. Types that depend on arguments are left out. */
  readonly signatures: readonly string[]
  readonly description: string | null
  readonly example: string | null
}

/** Signatures of Eider's own functions. */
const OWN_FORMS = `
  SELECT lower(function_name) AS name,
    function_name || '(' || array_to_string(parameters, ', ') ||
      CASE WHEN varargs IS NULL THEN '' WHEN len(parameters) = 0 THEN '…' ELSE ', …' END || ')' AS form,
    min(return_type) AS type, count(DISTINCT return_type) AS types,
    any_value(description) AS description, any_value(examples[1]) AS example
  FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') GROUP BY 1, 2`

const OWN_FUNCTIONS = `
  SELECT name,
    list(CASE WHEN types = 1 AND type NOT LIKE '%ANY%' THEN form || ' → ' || type ELSE form END
      ORDER BY len(form), form) AS signatures,
    any_value(description) AS description, any_value(example) AS example
  FROM (${OWN_FORMS}) GROUP BY name ORDER BY name`

/** Every function that a SELECT may call, by name. @throws AppError `timeout`, `too_busy` */
export async function listSqlFunctions(
  deps: Pick<QueryDeps, 'engine' | 'queryMs'>,
  signal: AbortSignal,
): Promise<readonly SqlFunction[]> {
  const statement = { sql: OWN_FUNCTIONS, values: {}, isShort: true }
  const { ready, batches } = await deps.engine.run(statement, runLimits(deps), signal)
  const rows: (readonly ResultValue[])[] = [...(ready ?? [])]
  if (ready === undefined) for await (const batch of batches) rows.push(...batch)
  return rows.flatMap(functionOf)
}

function functionOf([
  given,
  signatures,
  description = null,
  example = null,
]: readonly ResultValue[]): readonly SqlFunction[] {
  const name = String(given)
  const kind = functionKind(name)
  if (kind === undefined || !/^[a-z]/.test(name)) return []
  return [
    {
      name,
      kind,
      signatures: Array.isArray(signatures) ? signatures.map(String) : [],
      description: description === null ? null : String(description),
      example: example === null ? null : String(example),
    },
  ]
}

/** @returns undefined if statements may not call it */
function functionKind(name: string): SqlFunction['kind'] | undefined {
  if (isWindowFunction(name)) return 'window'
  if (isAggregateFunction(name)) return 'aggregate'
  return isScalarFunction(name) ? 'scalar' : undefined
}
