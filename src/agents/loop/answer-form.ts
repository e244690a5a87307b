import type { ResponseFormat } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { parsedJson } from '../../core/json.ts'

/** An answer in its form, or what is wrong with it. */
export type CheckedAnswer =
  | { readonly kind: 'right'; readonly text: string }
  | { readonly kind: 'wrong'; readonly problem: string }

export type AnswerCheck = (text: string) => CheckedAnswer

const PROBLEMS_MAX = 10
/** Up to this length, all mistakes of an answer are listed. */
const LISTED_CHARS_MAX = 10_000
const PROBLEM_CHARS_MAX = 1000

/**
 * Checks an answer by its JSON schema. Patterns run in an engine with linear time: the schema comes from a client and the
 * text from a model.
 * @throws AppError `invalid_request` for an invalid schema
 */
export async function answerCheck({ schema }: ResponseFormat): Promise<AnswerCheck> {
  const [{ Ajv2020 }, { RE2JS }] = await Promise.all([import('ajv/dist/2020.js'), import('re2js')])
  const linearPattern = (pattern: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    const test = (text: string) => compiled.matcher(text).find()
    // ajv uses it to distinguish patterns.
    return { test, toString: () => JSON.stringify(pattern) }
  }
  // Its source exists only in generated code, which this one is not.
  linearPattern.code = ''
  const options = {
    strict: false,
    logger: false as const,
    // `format` only describes, as the standard says.
    validateFormats: false,
    addUsedSchema: false,
    code: { regExp: linearPattern },
  }
  // Drafts differ only in parts not used here.
  const { $schema: _, ...plain } = schema
  const validate = compiled(() => new Ajv2020(options).compile(plain))
  const listProblems = new Ajv2020({ ...options, allErrors: true }).compile(plain)
  return (text) => {
    const json = withoutFence(text)
    const value = parsedJson(json)
    if (value === undefined) return { kind: 'wrong', problem: 'it is not JSON' }
    if (validate(value)) return { kind: 'right', text: json }
    // A long answer may have millions of mistakes: then only the first is reported.
    if (json.length <= LISTED_CHARS_MAX) listProblems(value)
    const errors = listProblems.errors ?? validate.errors
    listProblems.errors = null
    const problems = errors?.slice(0, PROBLEMS_MAX).map(({ instancePath, message }) => {
      return `${instancePath === '' ? 'the value' : instancePath} ${message}`
    })
    const problem = problems?.join('; ').slice(0, PROBLEM_CHARS_MAX).toWellFormed()
    return { kind: 'wrong', problem: problem ?? 'it does not match the schema' }
  }
}

function compiled<T>(compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    const words = error instanceof Error ? error.message.slice(0, 300).toWellFormed() : ''
    throw new AppError('invalid_request', `The schema of response_format is not valid: ${words}`)
  }
}

/** Models like to write JSON as Markdown. */
function withoutFence(text: string): string {
  const trimmed = text.trim()
  const opening = /^```\w{0,40}[ \t]{0,40}\r?\n/.exec(trimmed)?.[0]
  if (opening === undefined || !trimmed.endsWith('```')) return trimmed
  return trimmed.slice(opening.length, -3).trim()
}
