/** What EVALUATE found: curves, which setting is better, and the questions to look at. */
import { useMemo } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { Button } from '../../../components/button.tsx'
import { comparedOf } from './comparison.ts'
import { Curve } from './curve.tsx'
import { type Evaluated, type Metric, meanOf } from './evaluation.ts'
import { KS } from './measure-address.ts'
import { QuestionTable } from './question-table.tsx'
import { Verdict } from './verdict.tsx'

interface MeasureResultsProps {
  readonly place: KnowledgeBaseName
  readonly results: readonly Evaluated[]
  readonly k: number
  readonly onK: (k: number) => void
}

export function MeasureResults({ place, results, k, onK }: MeasureResultsProps) {
  const [first, second] = results
  const compared = useMemo(
    () => (second ? comparedOf(first?.questions ?? [], second.questions, k) : []),
    [results, k],
  )
  const linesOf = (metric: Metric) => {
    return results.map(({ questions }, index) => {
      return { name: 'AB'[index] ?? '', values: meanOf(questions, metric) }
    })
  }
  return (
    <>
      <fieldset class="search-ks row">
        <legend class="visually-hidden">Results that count</legend>
        <span aria-hidden="true">Results that count</span>
        {KS.map((one) => (
          <Button look="small" key={one} aria-pressed={one === k} onClick={() => onK(one)}>
            {one}
          </Button>
        ))}
      </fieldset>
      <Verdict results={results} compared={compared} k={k} />
      <div class="search-compared">
        <Curve title="nDCG@k" lines={linesOf('ndcg')} k={k} />
        <Curve title="recall@k" lines={linesOf('recall')} k={k} />
      </div>
      <QuestionTable place={place} results={results} compared={compared} k={k} />
    </>
  )
}
