/** The conditions that chunks must fulfil: taken away by a click, or written as JSON. */
import { useState } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { TextAreaField } from '../../components/form/text-area-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { counted } from '../../format/numbers.ts'
import { type Filters, parsedFilters, withoutCondition } from './lab-settings.ts'

interface FilterBarProps {
  readonly filters: Filters
  readonly onChange: (filters: Filters) => void
  /** What of the map is searched; null: all of it. */
  readonly part: string | null
  readonly onWhole: () => void
}

export function FilterBar({ filters, onChange, part, onWhole }: FilterBarProps) {
  const [typed, setTyped] = useState<string | null>(null)
  const conditions = Object.entries(filters)
  const isOpen = typed !== null
  const type = (text: string) => {
    setTyped(text)
    const parsed = parsedFilters(text.trim() === '' ? '{}' : text)
    if (parsed !== null) onChange(parsed)
  }
  const isWrong = isOpen && typed.trim() !== '' && parsedFilters(typed) === null
  return (
    <div class="stack">
      <div class="row">
        <Icon name="filter" />
        {conditions.length === 0 && part === null && (
          <span class="quiet small">All chunks. Click a value below to filter.</span>
        )}
        {part !== null && (
          <button
            type="button"
            class="search-chip"
            aria-label="Remove the filter by the map"
            onClick={onWhole}
          >
            selected on the map: {part} ×
          </button>
        )}
        {conditions.map(([key, value]) => (
          <button
            key={key}
            type="button"
            class="search-chip"
            aria-label={`Remove the filter ${key}`}
            onClick={() => {
              setTyped(null)
              onChange(withoutCondition(filters, key))
            }}
          >
            <bdi>
              {key.replace(/^metadata\./, '')}: {shownCondition(value)}
            </bdi>{' '}
            ×
          </button>
        ))}
        <Button
          look="small"
          label={isOpen ? 'Close the editor' : 'Edit as JSON'}
          aria-expanded={isOpen}
          onClick={() => setTyped(isOpen ? null : JSON.stringify(filters, null, 2))}
        />
      </div>
      {isOpen && (
        <TextAreaField
          label="Filter"
          hint={'As in {"price": {"<": 10}, "colour": "green"}'}
          error={isWrong ? 'Not a JSON object yet; the previous filter still applies' : undefined}
          dir="ltr"
          class="mono"
          rows={4}
          spellcheck={false}
          value={typed}
          onText={type}
        />
      )}
    </div>
  )
}

const LISTED_MAX = 5

/** As JSON; of a long list, as a map gives one, how long it is. */
function shownCondition(condition: unknown): string {
  const isList = typeof condition === 'object' && condition !== null && 'in' in condition
  const list = isList && Array.isArray(condition.in) ? condition.in : []
  if (list.length > LISTED_MAX) return `one of ${counted(list.length, 'value')}`
  return JSON.stringify(condition)
}
