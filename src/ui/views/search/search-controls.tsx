/** What is searched, and how. */
import type { RefObject } from 'preact'
import { FUSIONS } from '../../../domain/hybrid-search.ts'
import { Field } from '../../components/field.tsx'
import type { LabSettings } from './lab-settings.ts'

interface SearchControlsProps {
  readonly settings: LabSettings
  readonly hasReranker: boolean
  readonly onChange: (part: Partial<LabSettings>) => void
  readonly box: RefObject<HTMLInputElement | null>
  /** What may be slow is searched now. */
  readonly onEnter: () => void
}

const ALPHA_SHOWN = 0.5
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
        <Field
          label={`Weight of meaning: ${alpha === null ? 'automatic' : alpha.toFixed(2)}`}
          hint={
            alpha === null ? (
              'It fits the text. Left: words, right: meaning'
            ) : (
              <button type="button" class="button small" onClick={() => onChange({ alpha: null })}>
                Automatic again
              </button>
            )
          }
        >
          {(control) => (
            <input
              {...control}
              type="range"
              min="0"
              max="1"
              step="0.05"
              value={alpha ?? ALPHA_SHOWN}
              onInput={(event) => onChange({ alpha: Number(event.currentTarget.value) })}
            />
          )}
        </Field>
        <Field label="Fusion">
          {(control) => (
            <select
              {...control}
              value={fusion ?? ''}
              onChange={(event) => onChange({ fusion: event.currentTarget.value || null })}
            >
              <option value="">As the knowledge base says</option>
              {FUSIONS.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Results">
          {(control) => (
            <select
              {...control}
              value={String(k)}
              onChange={(event) => onChange({ k: Number(event.currentTarget.value) })}
            >
              {[...new Set([...COUNTS, k])].map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
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
