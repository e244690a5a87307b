/** How the rankings by meaning and by keywords become one. */
import { FUSIONS, type Fusion } from '../../../domain/hybrid-search.ts'
import { SelectField } from './select-field.tsx'

interface FusionFieldProps {
  readonly fusion: string | null
  /** What stands for null, where it may be: `As set for the knowledge base`. */
  readonly otherwise?: string
  readonly onChoose: (fusion: Fusion | null) => void
}

const WORDS: Readonly<Record<Fusion, string>> = {
  convex: 'Best possible scores (convex)',
  scaled: 'Scores of the best 100 chunks (scaled)',
  rrf: 'Ranks alone (rrf)',
}

export function FusionField({ fusion, otherwise, onChoose }: FusionFieldProps) {
  return (
    <SelectField
      label="Combine rankings by"
      value={fusion ?? ''}
      onChoose={(value) => onChoose(FUSIONS.find((one) => one === value) ?? null)}
      options={[
        ...(otherwise === undefined ? [] : [['', otherwise] as const]),
        ...FUSIONS.map((one) => [one, WORDS[one]] as const),
      ]}
    />
  )
}
