/** Measurements that somebody keeps, in a table of the project beside the judgments. */
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { quoted, runSql } from '../../../api/sql.ts'
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
  await runSql({ sql: `CREATE TABLE IF NOT EXISTS ${table} (${COLUMNS})`, project })
  for (const [at, result] of results.entries()) {
    const letter = results.length > 1 ? ` (${'AB'[at]})` : ''
    const params = valuesOf(`${name}${letter}`, result)
    const rename = `UPDATE ${table} SET name = :name
      WHERE measured_at = CAST(:at AS TIMESTAMP) AND settings = :settings RETURNING name`
    const { rows } = await runSql({ sql: rename, project, params })
    if (rows.length > 0) continue
    const values = 'VALUES (:name, :at, :settings, :questions, :ndcg, :recall, :seconds)'
    await runSql({ sql: `INSERT INTO ${table} ${values}`, project, params })
  }
}

const COLUMNS = `name VARCHAR, measured_at TIMESTAMP, settings VARCHAR, questions BIGINT,
  ndcg DOUBLE[], recall DOUBLE[], seconds DOUBLE`

function valuesOf(name: string, { setting, questions, meanSeconds, measuredAt }: Evaluated) {
  return {
    name,
    at: measuredAt,
    settings: writtenSetting(setting),
    questions: questions.length,
    ndcg: meanOf(questions, 'ndcg'),
    recall: meanOf(questions, 'recall'),
    seconds: meanSeconds,
  }
}

/** Where the table is gone, so is the measurement. @throws ApiError */
export async function deleteMeasurement(
  place: KnowledgeBaseName,
  { name, measuredAt }: KeptMeasurement,
): Promise<void> {
  const { project } = place
  if (!(await hasTable(project, nameOf(place)))) return
  const isMeant = 'name = :name AND CAST(measured_at AS VARCHAR) = :at'
  const sql = `DELETE FROM ${tableOf(place)} WHERE ${isMeant}`
  await runSql({ sql, project, params: { name, at: measuredAt } })
}
