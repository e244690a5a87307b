import { isMostlyLatin } from '../../analysis/words.ts'
import type { Candidate, Ranking } from './sentence-ranking.ts'

/** What was searched for an answer, and what was found. */
export interface Findings {
  readonly question: string
  readonly ranking: Ranking
  /** All knowledge bases that there are. */
  readonly names: readonly string[]
  /** Those that were searched. */
  readonly searched: readonly string[]
  readonly failures: readonly { readonly name: string; readonly message: string }[]
}

const QUOTES_MAX = 3
const QUOTE_CHARS_MAX = 600
/** A sentence this far behind the best one says something else. */
const SCORE_SHARE_MIN = 0.5

/**
 * When a question counts as answered. Chosen on questions over the READMEs of this project's
 * dependencies (`tests/slow/models/extractive-answers.test.ts`): answerable ones reach a cosine of
 * 0.53 to 0.81 there, others 0.11 to 0.28, and 0.43 where a licence speaks of warranties.
 */
const COSINE_MIN = 0.45
/** Words that meet by chance have little to do with each other in meaning. */
const COVERAGE_MIN = 0.6
const COVERED_COSINE_MIN = 0.2
/**
 * The built-in model is English: elsewhere its cosines are high between any two texts of one
 * script.
 */
const FOREIGN_COVERAGE_MIN = 0.3

/** One plain sentence, then quotations, each with the id of its chunk; or that there is nothing. */
export function writtenAnswer(findings: Findings): string {
  const { ranking, searched, failures } = findings
  const failed = failures.map(({ name, message }) => `Searching ${name} failed: ${message}`)
  const answered = searched.filter((name) => failures.every((failure) => failure.name !== name))
  if (answered.length === 0)
    return failed.length > 0 ? failed.join('\n') : nothingToSearch(findings)
  const quoted = isRelevant(findings) ? quotationsOf(ranking.candidates) : []
  const where = `${answered.join(', ')}${unsearched(findings)}`
  const opening =
    quoted.length === 0
      ? `I found nothing relevant to this question in ${where}.`
      : `This is what I found in ${where}:`
  return [opening, ...quoted, ...failed].join('\n')
}

function nothingToSearch({ names }: Findings): string {
  if (names.length === 0) return 'There is no knowledge base that I may search for an answer.'
  return `I could not search ${names.join(', ')}: no tool call was left.`
}

function unsearched({ names, searched }: Findings): string {
  const rest = names.length - searched.length
  return rest > 0 ? ` (${rest} more knowledge bases were not searched)` : ''
}

function isRelevant({ question, ranking }: Findings): boolean {
  const { bestCosine, bestCoverage } = ranking
  if (!isMostlyLatin(question)) return bestCoverage >= FOREIGN_COVERAGE_MIN
  const isCovered = bestCoverage >= COVERAGE_MIN && bestCosine >= COVERED_COSINE_MIN
  return isCovered || bestCosine >= COSINE_MIN
}

function quotationsOf(candidates: readonly Candidate[]): readonly string[] {
  const best = candidates[0]?.score ?? 0
  const chosen: Candidate[] = []
  for (const candidate of candidates) {
    if (chosen.length >= QUOTES_MAX || candidate.score < best * SCORE_SHARE_MIN) break
    // Where chunks were cut within a sentence, both parts are there beside the whole.
    const isKnown = chosen.some(({ text }) => {
      return text.includes(candidate.text) || candidate.text.includes(text)
    })
    if (!isKnown) chosen.push(candidate)
  }
  return chosen.map(({ text, chunkId }) => `"${shortened(text)}" [${chunkId}]`)
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  if (line.length <= QUOTE_CHARS_MAX) return line
  // A cut through a surrogate pair leaves its first half: that goes too.
  return `${line.slice(0, QUOTE_CHARS_MAX).replace(/[\uD800-\uDBFF]$/, '')}…`
}
