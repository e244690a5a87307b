/** The questions that fared worst; of two settings, those that differ most. Each is a click away from being searched. */
import { useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { Button } from '../../../components/button.tsx'
import { counted } from '../../../components/numbers.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { DEFAULT_LAB, queryOf } from '../columns/lab-settings.ts'
import type { Compared } from './comparison.ts'
import { type Evaluated, type EvaluationSetting, K_MAX, type Measured } from './evaluation.ts'

const STEP = 25
const LEAST = 10

interface QuestionTableProps {
  readonly place: KnowledgeBaseName
  readonly results: readonly Evaluated[]
  readonly compared: readonly Compared[]
  readonly k: number
}

export function QuestionTable({ place, results, compared, k }: QuestionTableProps) {
  const [first] = results
  const isCompared = results.length > 1
  const rows: readonly Shown[] = isCompared ? compared : worstOf(first?.questions ?? [], k)
  const [more, setMore] = useState(0)
  // What has nothing to say comes last, and only some of it.
  const saying = rows.filter(
    ({ change, first: one }) => (change ?? (one.ndcg[k - 1] ?? 0) - 1) !== 0,
  )
  const shownMax = Math.min(Math.max(saying.length, LEAST), STEP) + more
  const isAll = rows.length <= shownMax
  return (
    <section class="panel flush" aria-label="Questions">
      <div class="search-table">
        <table>
          <caption class="search-caption">
            {isCompared ? 'Questions that changed most' : 'Worst questions first'}
          </caption>
          <Head isCompared={isCompared} k={k} />
          <tbody>
            {rows.slice(0, shownMax).map((row) => (
              <Row key={row.question} {...row} k={k} place={place} setting={first?.setting} />
            ))}
          </tbody>
        </table>
      </div>
      {!isAll && (
        <div class="row search-table-foot">
          <Button look="small" label="Show more questions" onClick={() => setMore(more + STEP)} />
          <p class="small quiet">{counted(rows.length - shownMax, 'other question')}</p>
        </div>
      )}
    </section>
  )
}

interface Shown {
  readonly question: string
  readonly first: Measured
  readonly second?: Measured
  readonly change?: number
}

function worstOf(questions: readonly Measured[], k: number): readonly Shown[] {
  const scoreOf = ({ ndcg }: Measured) => ndcg[k - 1] ?? 0
  return questions
    .toSorted((one, other) => scoreOf(one) - scoreOf(other))
    .map((first) => ({ question: first.question, first }))
}

function Head({ isCompared, k }: { readonly isCompared: boolean; readonly k: number }) {
  const titles = isCompared
    ? ['First right, A', 'B', `nDCG@${k}, A`, 'B']
    : ['First right at', `nDCG@${k}`]
  return (
    <thead>
      <tr>
        <th scope="col">Question</th>
        {titles.map((title, index) => (
          <th key={`${title} ${index}`} scope="col" class="number">
            {title}
          </th>
        ))}
        {isCompared && <th scope="col">B is</th>}
      </tr>
    </thead>
  )
}

interface RowProps extends Shown {
  readonly k: number
  readonly place: KnowledgeBaseName
  readonly setting: EvaluationSetting | undefined
}

function Row({ question, first, second, change, k, place, setting }: RowProps) {
  const measured = second === undefined ? [first] : [first, second]
  const name = setting?.knowledgeBase ?? place.name
  const query = queryOf({
    ...DEFAULT_LAB,
    text: question,
    alpha: setting?.alpha ?? null,
    fusion: setting?.fusion ?? null,
  })
  return (
    <tr>
      <td>
        <a href={`${addressOf.searchLab(place.project, name)}${query}`} dir="auto">
          {question}
        </a>
      </td>
      {measured.map(({ firstRank }, index) => (
        <td key={`rank ${index}`} class="number">
          {firstRank ?? `not in ${K_MAX}`}
        </td>
      ))}
      {measured.map(({ ndcg }, index) => (
        <td key={`ndcg ${index}`} class="number">
          {(ndcg[k - 1] ?? 0).toFixed(3)}
        </td>
      ))}
      {change !== undefined && (
        <td class={change > 0 ? 'good' : change < 0 ? 'bad' : 'quiet'}>
          {change > 0 ? '↑ better' : change < 0 ? '↓ worse' : 'the same'}
        </td>
      )}
    </tr>
  )
}
