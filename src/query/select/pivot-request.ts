import type { RowStream } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import { hasPivot, pivotColumns, withPivotValues } from '../../sql/pivot-values.ts'

const VALUES_MAX = 1000

/**
 * The statement with the values of its PIVOTs written out, where it left them to be looked up.
 * @param select runs a SELECT with the rights and parameters of the statement
 */
export async function pivotedSql(
  sql: string,
  select: (sql: string) => Promise<RowStream>,
): Promise<string> {
  if (!hasPivot(sql)) return sql
  const columns = pivotColumns(sql)
  const values: (readonly string[])[] = []
  for (const column of columns) values.push(await textsOf(await select(column.select)))
  return withPivotValues(sql, columns, values)
}

async function textsOf({ batches }: RowStream): Promise<readonly string[]> {
  const texts: string[] = []
  for await (const rows of batches) {
    for (const [value = null] of rows) if (value !== null) texts.push(String(value))
    if (texts.length > VALUES_MAX) {
      const message = `PIVOT makes at most ${VALUES_MAX} columns; name the values: ON column IN (…)`
      throw new AppError('sql_failed', message)
    }
  }
  if (texts.length > 0) return texts
  throw new AppError('sql_failed', 'PIVOT found no value to make columns of')
}
