/** What is searched, and how. */
import type { RefObject } from 'preact'
import { FusionField } from '../../components/form/fusion-field.tsx'
import { SelectField } from '../../components/form/select-field.tsx'
import { WeightField } from '../../components/form/weight-field.tsx'
import type { LabSettings } from './lab-settings.ts'

interface SearchControlsProps {
  readonly settings: LabSettings
  readonly hasReranker: boolean
  readonly onChange: (part: Partial<LabSettings>) => void
  readonly box: RefObject<HTMLInputElement | null>
  /** What may be slow is searched now. */
  readonly onEnter: () => void
}

const COUNTS = [5, 10, 20, 50, 100]

export function SearchControls({
  settings,
  hasReranker,
  onChange,
  box,
  onEnter,
}: SearchControlsProps) {
  const { text, alpha, fusion, k, reranks } = settings
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onEnter()
      }}
    >
      <input
        ref={box}
        type="search"
        class="search-box"
        aria-label="Search"
        placeholder="Search, as you would ask it"
        autocomplete="off"
        dir="auto"
        value={text}
        onInput={(event) => onChange({ text: event.currentTarget.value })}
      />
      <div class="search-settings">
        <WeightField alpha={alpha} onChange={(weight) => onChange({ alpha: weight })} />
        <FusionField
          fusion={fusion}
          otherwise="As set for the knowledge base"
          onChoose={(chosen) => onChange({ fusion: chosen })}
        />
        <SelectField
          label="Results"
          value={String(k)}
          onChoose={(value) => onChange({ k: Number(value) })}
          options={[...new Set([...COUNTS, k])]}
        />
        {hasReranker && (
          <label class="check">
            <input
              type="checkbox"
              checked={reranks}
              onChange={(event) => onChange({ reranks: event.currentTarget.checked })}
            />
            Rerank while I type
          </label>
        )}
      </div>
    </form>
  )
}
