/** The questions that fared worst; of two settings, those that differ most. Each is a click away from being searched. */
import { addressOf } from '../../../shell/addresses.ts'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'
import type { Measured } from './evaluation.ts'

const SHOWN_MAX = 50
/** nDCG of the first ten. */
const INDEX = 9

interface WorstQuestionsProps {
  readonly place: KnowledgeBaseAddress
  readonly results: readonly (readonly Measured[])[]
}

export function WorstQuestions({ place, results: [first = [], second] }: WorstQuestionsProps) {
  const others = new Map((second ?? []).map((one) => [one.question, one.ndcg[INDEX] ?? 0]))
  const rows = first.map(({ question, ndcg }) => {
    const own = ndcg[INDEX] ?? 0
    const other = others.get(question)
    return { question, own, other, change: other === undefined ? 0 : other - own }
  })
  const isCompared = second !== undefined
  const sorted = isCompared
    ? rows.sort((one, two) => Math.abs(two.change) - Math.abs(one.change))
    : rows.sort((one, two) => one.own - two.own)
  const href = addressOf.searchLab(place.project, place.name)
  return (
    <section class="panel flush" aria-label="Questions">
      <table>
        <caption class="search-caption">
          {isCompared ? 'Questions that changed most' : 'Worst questions first'}
        </caption>
        <thead>
          <tr>
            <th scope="col">Question</th>
            <th scope="col" class="number">
              nDCG@10{isCompared ? ' of A' : ''}
            </th>
            {isCompared && (
              <th scope="col" class="number">
                of B
              </th>
            )}
            {isCompared && <th scope="col">B is</th>}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, SHOWN_MAX).map(({ question, own, other, change }) => (
            <tr key={question}>
              <td>
                <a href={`${href}?${new URLSearchParams({ q: question })}`} dir="auto">
                  {question}
                </a>
              </td>
              <td class="number">{own.toFixed(3)}</td>
              {isCompared && <td class="number">{(other ?? 0).toFixed(3)}</td>}
              {isCompared && <td>{change === 0 ? 'the same' : change > 0 ? 'better' : 'worse'}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
