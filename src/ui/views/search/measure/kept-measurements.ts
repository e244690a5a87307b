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

/** @throws ApiError */
export async function keepMeasurement(
  place: KnowledgeBaseName,
  name: string,
  { setting, questions, meanSeconds }: Evaluated,
): Promise<void> {
  const row = `SELECT CAST(:name AS VARCHAR) AS name, CAST(now() AS TIMESTAMP) AS measured_at,
    CAST(:settings AS VARCHAR) AS settings, CAST(:questions AS BIGINT) AS questions,
    :ndcg::DOUBLE[] AS ndcg, :recall::DOUBLE[] AS recall, CAST(:seconds AS DOUBLE) AS seconds`
  await replaced(place, `UNION ALL ${row}`, {
    name,
    settings: writtenSetting(setting),
    questions: questions.length,
    ndcg: meanOf(questions, 'ndcg'),
    recall: meanOf(questions, 'recall'),
    seconds: meanSeconds,
  })
}

/** @throws ApiError */
export async function deleteMeasurement(
  place: KnowledgeBaseName,
  { name, measuredAt }: KeptMeasurement,
): Promise<void> {
  const isMeant = `name = ${literal(name)} AND CAST(measured_at AS VARCHAR) = ${literal(measuredAt)}`
  await replaced(place, `WHERE NOT (${isMeant})`, {})
}

/** In one statement, so that nothing is lost where two people keep something. */
async function replaced(
  place: KnowledgeBaseName,
  change: string,
  params: Readonly<Record<string, unknown>>,
): Promise<void> {
  const table = tableOf(place)
  const isThere = await hasTable(place.project, nameOf(place))
  const rows = isThere ? `SELECT * FROM ${table} ${change}` : change.replace('UNION ALL ', '')
  await runSql({
    sql: `CREATE OR REPLACE TABLE ${table} AS ${rows}`,
    project: place.project,
    params,
  })
}
