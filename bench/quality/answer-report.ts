import { textTable } from '../../scripts/text-table.ts'
import type { AnswerCase } from './answer-cases.ts'
import type { Rates } from './answer-rating.ts'

export interface RatedCase extends Pick<AnswerCase, 'name' | 'kind'> {
  readonly rates: Rates
}

export function printRates(cases: readonly RatedCase[]): void {
  const share = (value: number) => value.toFixed(3)
  const rows = cases.map(({ name, kind, rates }) => {
    const gold = kind === 'answered' ? goldShares(rates).map(share) : ['', '', '', '']
    const sizes = [rates.quoteChars, rates.quoteCharsMax]
    return [name, kind, rates.count, ...gold, share(rates.nothingFound), ...sizes]
  })
  const names = [
    'questions',
    'kind',
    'n',
    'marked',
    'passage',
    'first',
    'in three',
    'nothing',
    'chars',
    'longest',
  ]
  console.log(textTable(names, rows))
}

function goldShares(rates: Rates): readonly number[] {
  return [rates.goldMarked, rates.goldPassage, rates.goldFirst, rates.goldInThree]
}
