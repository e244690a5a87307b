/** Measurements that somebody keeps, in a table of the project beside the judgments. */
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { literal, quoted, runSql } from '../../../api/sql.ts'
import { hasTable } from '../judgments/judgments.ts'
import { type Evaluated, type EvaluationSetting, meanOf } from './evaluation.ts'
import { settingOf, writtenSetting } from './measure-address.ts'

export interface KeptMeasurement {
  readonly name: string
  /** As the API writes times; with the name it says which row is meant. */
  readonly measuredAt: string
  readonly setting: EvaluationSetting
  readonly questionCount: number
  /** For each k from 1 on. */
  readonly ndcg: readonly number[]
  readonly recall: readonly number[]
  readonly meanSeconds: number
}

const SHOWN_MAX = 100

const nameOf = ({ name }: KnowledgeBaseName) => `${name}_measurements`

function tableOf(place: KnowledgeBaseName): string {
  return `${quoted(place.project)}.${quoted(nameOf(place))}`
}

/** The last ones first; none where nothing was kept yet. @throws ApiError */
export async function keptMeasurements(
  place: KnowledgeBaseName,
  signal: AbortSignal,
): Promise<readonly KeptMeasurement[]> {
  const { project } = place
  if (!(await hasTable(project, nameOf(place), signal))) return []
  const sql = `SELECT name, CAST(measured_at AS VARCHAR), settings, questions,
      to_json(ndcg), to_json(recall), seconds
    FROM ${tableOf(place)} ORDER BY measured_at DESC LIMIT ${SHOWN_MAX}`
  const { rows } = await runSql({ sql, project, signal })
  return rows.map(([name, at, settings, questions, ndcg, recall, seconds]) => ({
    name: String(name),
    measuredAt: String(at),
    setting: settingOf(String(settings)),
    questionCount: Number(questions),
    ndcg: numbersOf(ndcg),
    recall: numbersOf(recall),
    meanSeconds: Number(seconds),
  }))
}

function numbersOf(json: unknown): readonly number[] {
  const list: unknown = typeof json === 'string' ? JSON.parse(json) : json
  return Array.isArray(list) ? list.map(Number) : []
}

/** Each is kept once: kept again, it gets another name. @throws ApiError */
export async function keepMeasurements(
  place: KnowledgeBaseName,
  name: string,
  results: readonly Evaluated[],
): Promise<void> {
  const { project } = place
  const table = tableOf(place)
  await runSql({ sql: `CREATE TABLE IF NOT EXISTS ${table} AS ${NO_ROWS}`, project })
  const letterOf = (at: number) => (results.length > 1 ? ` (${'AB'[at]})` : '')
  const params = Object.fromEntries(
    results.flatMap((one, at) => valuesOf(`${name}${letterOf(at)}`, one, at)),
  )
  const areKept = results.map((_, at) => {
    return `(measured_at = CAST(:at${at} AS TIMESTAMP) AND settings = :settings${at})`
  })
  const others = `SELECT * FROM ${table} WHERE NOT (${areKept.join(' OR ')})`
  const sql = [others, ...results.map((_, at) => rowAt(at))].join(' UNION ALL ')
  await runSql({ sql: `CREATE OR REPLACE TABLE ${table} AS ${sql}`, project, params })
}

const NO_ROWS = `SELECT '' AS name, CAST(NULL AS TIMESTAMP) AS measured_at, '' AS settings,
  CAST(0 AS BIGINT) AS questions, CAST([] AS DOUBLE[]) AS ndcg, CAST([] AS DOUBLE[]) AS recall,
  CAST(0 AS DOUBLE) AS seconds WHERE false`

function rowAt(at: number): string {
  return `SELECT CAST(:name${at} AS VARCHAR), CAST(:at${at} AS TIMESTAMP),
    CAST(:settings${at} AS VARCHAR), CAST(:questions${at} AS BIGINT), :ndcg${at}::DOUBLE[],
    :recall${at}::DOUBLE[], CAST(:seconds${at} AS DOUBLE)`
}

function valuesOf(name: string, result: Evaluated, at: number): readonly [string, unknown][] {
  const { setting, questions, meanSeconds, measuredAt } = result
  return [
    [`name${at}`, name],
    [`at${at}`, measuredAt],
    [`settings${at}`, writtenSetting(setting)],
    [`questions${at}`, questions.length],
    [`ndcg${at}`, meanOf(questions, 'ndcg')],
    [`recall${at}`, meanOf(questions, 'recall')],
    [`seconds${at}`, meanSeconds],
  ]
}

/** Where the table is gone, so is the measurement. @throws ApiError */
export async function deleteMeasurement(
  place: KnowledgeBaseName,
  { name, measuredAt }: KeptMeasurement,
): Promise<void> {
  const { project } = place
  if (!(await hasTable(project, nameOf(place)))) return
  const table = tableOf(place)
  const isMeant = `name = ${literal(name)} AND CAST(measured_at AS VARCHAR) = ${literal(measuredAt)}`
  const sql = `CREATE OR REPLACE TABLE ${table} AS SELECT * FROM ${table} WHERE NOT (${isMeant})`
  await runSql({ sql, project })
}
