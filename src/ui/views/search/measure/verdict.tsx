/** What came out, in words: of two settings, which is better, and whether that is more than chance. */
import { counted, shownDuration } from '../../../format/numbers.ts'
import { type Compared, chanceOf } from './comparison.ts'
import { type Evaluated, meanOf } from './evaluation.ts'

const NAMES = ['A', 'B'] as const
/** Below it, most people call a difference significant. */
const CHANCE_MAX = 0.05

interface VerdictProps {
  readonly results: readonly Evaluated[]
  readonly compared: readonly Compared[]
  readonly k: number
}

export function Verdict({ results, compared, k }: VerdictProps) {
  const times = results.map(({ meanSeconds }, index) => {
    const name = results.length > 1 ? `${NAMES[index]}: ` : ''
    return `${name}${shownDuration(meanSeconds * 1000)}`
  })
  return (
    <div class="stack" role="status">
      {results.length > 1 && <p>{verdictOf(results, compared, k)}</p>}
      <p class="small quiet">
        {counted(results[0]?.questions.length ?? 0, 'question')} with a right document. Time of a
        search while four ran at once: {times.join(', ')}.
      </p>
      {results.flatMap(({ warnings }, index) =>
        warnings.map((warning) => (
          <p key={`${index} ${warning}`} class="search-warning small pre" dir="auto">
            {results.length > 1 && `${NAMES[index]}: `}
            {warning}
          </p>
        )),
      )}
    </div>
  )
}

function verdictOf(results: readonly Evaluated[], compared: readonly Compared[], k: number) {
  const [first = 0, second = 0] = results.map(({ questions }) => {
    return meanOf(questions, 'ndcg')[k - 1] ?? 0
  })
  const better = compared.filter(({ change }) => change > 0).length
  const worse = compared.filter(({ change }) => change < 0).length
  const same = compared.length - better - worse
  if (better + worse === 0) return `A and B do equally well for every question, by nDCG@${k}.`
  const difference = Math.abs(second - first).toFixed(3)
  const counts = `B is better for ${better}, worse for ${worse}, the same for ${same}.`
  const chance = chanceOf(compared.map(({ change }) => change))
  const percent = chance < 0.001 ? 'less than 0.1' : (chance * 100).toFixed(1)
  const means =
    chance < CHANCE_MAX
      ? `This is unlikely to be chance (${percent} % of cases).`
      : `Chance alone would do that in ${percent} % of cases: there may be no difference at all.`
  const who = second > first ? 'B is better' : second < first ? 'A is better' : 'They are equal'
  return `${who} by ${difference} in nDCG@${k}. ${counts} ${means}`
}
