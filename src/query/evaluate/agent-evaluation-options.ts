import { AppError } from '../../core/errors.ts'
import { AGENT_FIELDS } from '../definitions/define-agent.ts'
import { FieldReader, type Fields } from '../definitions/fields.ts'

/** `exact`, `contains`: the text of the answer; `citation`: the right document; `not_found`: where that is right; `model`: a chat model says. */
export const JUDGES = ['exact', 'contains', 'citation', 'not_found', 'model'] as const

export type Judge = (typeof JUDGES)[number]

export interface AgentEvaluationOptions {
  /** A SELECT, or the name of a table as it was written. */
  readonly questions: string
  /** null: by what is known of the right answers. */
  readonly judges: readonly Judge[] | null
  /** The fields of a chat model. */
  readonly judgeModel: Fields | null
  /** Fields of the agent that are other ones in this run. */
  readonly changes: Fields
  /** Those of a second setting, on top of `changes`; null: there is one. */
  readonly comparedChanges: Fields | null
  readonly concurrency: number
  /** Of the questions the first; null: all. */
  readonly limit: number | null
  /** The name under which answers are kept, so that the same statement goes on with it. */
  readonly run: string | null
  readonly saveTo: string | null
  /** A row for each setting, instead of one for each answer. */
  readonly isSummary: boolean
  readonly notFoundPhrases: readonly string[]
  /** A job does it; the statement waits for nothing. */
  readonly isInBackground: boolean
}

const INVALID_OPTION = 'invalid_request'

const AGENT_OPTIONS = [
  'questions',
  'judge',
  'judge_model',
  'compare',
  'concurrency',
  'limit',
  'run',
  'save_to',
  'summary',
  'not_found_phrases',
  'background',
] as const

export const QUESTIONS_MAX = 10_000
const CONCURRENCY_DEFAULT = 4
const CONCURRENCY_MAX = 32
const RUN_CHARS_MAX = 200
const PHRASES_MAX = 100

/**
 * The options of EVALUATE AGENT, which follow USING; the others are fields of the agent.
 * @throws AppError `unknown_field`, `missing_parameter`, `invalid_request`
 */
export function agentEvaluationOptions(sent: Fields): AgentEvaluationOptions {
  const read = new FieldReader(sent, INVALID_OPTION)
  read.allowOnly(new Set([...AGENT_OPTIONS, ...AGENT_FIELDS]), (name) => {
    const fields = [...AGENT_FIELDS].filter((field) => field !== 'name').join(', ')
    return `There is no option '${name}' in EVALUATE AGENT; there are ${AGENT_OPTIONS.join(', ')}, and the agent's ${fields}`
  })
  const questions = read.text('questions')?.trim() ?? ''
  if (questions === '') {
    const how = 'questions = (SELECT question, answer FROM files.golden), or the name of a table'
    throw new AppError('missing_parameter', `EVALUATE AGENT needs its questions: ${how}`)
  }
  const run = read.text('run')?.trim() ?? null
  if (run !== null && (run === '' || run.length > RUN_CHARS_MAX)) {
    throw new AppError(
      INVALID_OPTION,
      `Option "run" must be a name of 1 to ${RUN_CHARS_MAX} characters`,
    )
  }
  const changes = Object.entries(sent).filter(([name]) => AGENT_FIELDS.has(name))
  return {
    questions,
    judges: judgesOf(sent.judge),
    judgeModel: read.object('judge_model') ?? null,
    changes: Object.fromEntries(changes),
    comparedChanges: read.object('compare') ?? null,
    concurrency:
      read.integer('concurrency', { min: 1, max: CONCURRENCY_MAX }) ?? CONCURRENCY_DEFAULT,
    limit: read.integer('limit', { min: 1, max: QUESTIONS_MAX }) ?? null,
    run,
    saveTo: read.text('save_to')?.trim() ?? null,
    isSummary: read.truth('summary') ?? false,
    notFoundPhrases: phrasesOf(read),
    isInBackground: read.truth('background') ?? false,
  }
}

/** A name, several with commas between them, or a list. */
function judgesOf(sent: unknown): readonly Judge[] | null {
  if (sent === undefined || sent === null) return null
  const names = Array.isArray(sent) ? sent : [sent]
  const judges = names
    .flatMap((name) => String(name).split(','))
    .map((name) => {
      const found = JUDGES.find((judge) => judge === name.trim().toLowerCase())
      if (found !== undefined) return found
      const choices = JUDGES.map((judge) => `'${judge}'`).join(', ')
      throw new AppError(
        INVALID_OPTION,
        `Option "judge" must be of ${choices}; it is '${name.trim().slice(0, 80)}'`,
      )
    })
  return [...new Set(judges)]
}

function phrasesOf(read: FieldReader): readonly string[] {
  const phrases = (read.textList('not_found_phrases') ?? []).map((phrase) => phrase.trim())
  if (phrases.length <= PHRASES_MAX && phrases.every(Boolean)) return phrases
  throw new AppError(
    INVALID_OPTION,
    `Option "not_found_phrases" must be a list of at most ${PHRASES_MAX} texts`,
  )
}
