/** What an evaluation found: figures of each setting, which is better, and the questions to look at. */
import { useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { Button } from '../../components/button.tsx'
import { counted, shownDuration } from '../../components/numbers.ts'
import { RecordTable } from '../../components/record-list.tsx'
import { addressOf } from '../../shell/addresses.ts'
import {
  chanceOf,
  DEFAULT_SETTING,
  type Evaluated,
  type EvaluationSetting,
  type MeasuredRow,
  mean,
  rowsOf,
} from './measuring.ts'
import { DEFAULT_SEARCH, queryOf } from './search-settings.ts'

export const NAMES = ['A', 'B'] as const

const SHOWN_STEP = 25

export function MeasureResults(props: {
  readonly place: KnowledgeBaseName
  readonly results: readonly Evaluated[]
}) {
  const { place, results } = props
  const [shownMax, setShownMax] = useState(SHOWN_STEP)
  const rows = rowsOf(results)
  const isCompared = results.length > 1
  const k = results[0]?.k ?? 0
  const number = { look: 'number' }
  return (
    <div class="stack" role="status">
      {isCompared && <p>{verdictOf(results, rows)}</p>}
      {results.flatMap(({ warnings }, index) =>
        warnings.map((warning) => (
          <p key={`${index} ${warning}`} class="warning small pre" dir="auto">
            {isCompared && `${NAMES[index]}: `}
            {warning}
          </p>
        )),
      )}
      <RecordTable
        label="Results of each setting"
        rows={results}
        columns={[
          { title: 'Settings', cell: (_, index) => NAMES[index] },
          { ...number, title: 'Questions', cell: ({ questions }) => questions.length },
          {
            ...number,
            title: `nDCG@${k}`,
            cell: ({ questions }) => shown(meanOf(questions, 'ndcg')),
          },
          {
            ...number,
            title: `Recall@${k}`,
            cell: ({ questions }) => shown(meanOf(questions, 'recall')),
          },
          {
            ...number,
            title: 'Time per search',
            cell: ({ meanSeconds }) => shownDuration(meanSeconds * 1000),
          },
        ]}
      />
      <h2>{isCompared ? 'Questions that changed most' : 'Worst questions first'}</h2>
      <RecordTable
        label="Questions"
        rows={rows.slice(0, shownMax)}
        columns={[
          {
            title: 'Question',
            look: 'stacked-first',
            cell: ({ first }) => (
              <a href={questionAddress(place, results[0]?.setting, first.question)} dir="auto">
                {first.question}
              </a>
            ),
          },
          ...(isCompared ? NAMES : NAMES.slice(0, 1)).flatMap((name) => {
            const of = (row: MeasuredRow) => (name === 'B' ? row.second : row.first)
            const suffix = isCompared ? `, ${name}` : ''
            return [
              {
                ...number,
                title: `First right${suffix}`,
                label: `First right${suffix}`,
                cell: (row: MeasuredRow) => of(row)?.firstRank ?? `not in ${k}`,
              },
              {
                ...number,
                title: `nDCG@${k}${suffix}`,
                label: `nDCG@${k}${suffix}`,
                cell: (row: MeasuredRow) => shown(of(row)?.ndcg ?? 0),
              },
            ]
          }),
        ]}
      />
      {rows.length > shownMax && (
        <Button
          look="small"
          label={`Show more of ${counted(rows.length, 'question')}`}
          onClick={() => setShownMax(shownMax + SHOWN_STEP)}
        />
      )}
    </div>
  )
}

function meanOf(questions: Evaluated['questions'], metric: 'ndcg' | 'recall'): number {
  return mean(questions.map((one) => one[metric]))
}

function shown(value: number): string {
  return value.toFixed(3)
}

function questionAddress(
  { project, name }: KnowledgeBaseName,
  setting: EvaluationSetting = DEFAULT_SETTING,
  text: string,
): string {
  const { knowledgeBase, alpha, fusion } = setting
  const query = queryOf({ ...DEFAULT_SEARCH, text, alpha, fusion, compares: true })
  return `${addressOf.searchLab(project, knowledgeBase ?? name)}${query}`
}

/** Below it, most people call a difference significant. */
const CHANCE_MAX = 0.05

/** Which setting is better, and whether that is more than chance. */
function verdictOf(results: readonly Evaluated[], rows: readonly MeasuredRow[]): string {
  const k = results[0]?.k ?? 0
  const [first = 0, second = 0] = results.map(({ questions }) => meanOf(questions, 'ndcg'))
  const changes = rows.map(({ change = 0 }) => change)
  const better = changes.filter((change) => change > 0).length
  const worse = changes.filter((change) => change < 0).length
  if (better + worse === 0) return `A and B do equally well on every question, by nDCG@${k}.`
  const who = second > first ? 'B is better' : second < first ? 'A is better' : 'They are equal'
  const chance = chanceOf(changes)
  const percent = chance < 0.001 ? 'less than 0.1' : (chance * 100).toFixed(1)
  const meaning =
    chance < CHANCE_MAX
      ? `This is unlikely to be chance (${percent} %).`
      : `Chance alone would do that in ${percent} % of cases, so there may be no difference.`
  const same = changes.length - better - worse
  const counts = `B is better for ${better}, worse for ${worse}, the same for ${same}.`
  return `${who} by ${shown(Math.abs(second - first))} in nDCG@${k}. ${counts} ${meaning}`
}
