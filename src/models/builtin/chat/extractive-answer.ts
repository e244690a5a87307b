import type { RankedUnit, Ranking } from './answer-unit.ts'

/** What was searched for an answer, and what was found. */
export interface Findings {
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

/** One plain sentence, then quotations, each with the id of its chunk; or that there is nothing. */
export function writtenAnswer(findings: Findings): string {
  const { ranking, searched, failures } = findings
  const failed = failures.map(({ name, message }) => `Searching ${name} failed: ${message}`)
  const answered = searched.filter((name) => failures.every((failure) => failure.name !== name))
  if (answered.length === 0)
    return failed.length > 0 ? failed.join('\n') : nothingToSearch(findings)
  const quoted = ranking.isRelevant ? quotationsOf(ranking.units) : []
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

function quotationsOf(units: readonly RankedUnit[]): readonly string[] {
  const best = units[0]?.score ?? 0
  const chosen: RankedUnit[] = []
  for (const unit of units) {
    if (chosen.length >= QUOTES_MAX || unit.score < best * SCORE_SHARE_MIN) break
    // Where chunks were cut within a sentence, both parts are there beside the whole.
    const isKnown = chosen.some(({ text }) => text.includes(unit.text) || unit.text.includes(text))
    if (!isKnown) chosen.push(unit)
  }
  return chosen.map(({ text, passage }) => `"${shortened(text)}" [${passage.chunkId}]`)
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  if (line.length <= QUOTE_CHARS_MAX) return line
  // A cut through a surrogate pair leaves its first half: that goes too.
  return `${line.slice(0, QUOTE_CHARS_MAX).replace(/[\uD800-\uDBFF]$/, '')}…`
}
