/** What the list is narrowed down by, each to be taken away. */
import { type Filters, isFields, without } from '../../../api/filters.ts'
import { Button, Icon } from '../../../components/button.tsx'
import type { ListAddress } from './list-address.ts'

interface FilterChipsProps {
  readonly shown: ListAddress
  readonly onShow: (change: { readonly filters: Filters }) => void
}

export function FilterChips({ shown: { filters }, onShow }: FilterChipsProps) {
  const names = Object.keys(filters)
  if (names.length === 0) return null
  return (
    <ul class="kb-chips" aria-label="Filters">
      {names.map((name) => (
        <li key={name}>
          <Button
            look="small"
            aria-label={`Remove the filter ${name}`}
            onClick={() => onShow({ filters: without(filters, name) })}
          >
            <span class="one-line" dir="auto">
              {name}: {wordsOfCondition(filters[name])}
            </span>
            <Icon name="close" />
          </Button>
        </li>
      ))}
      <li>
        <Button look="small quiet" label="Clear filters" onClick={() => onShow({ filters: {} })} />
      </li>
    </ul>
  )
}

/** More of them say no more. */
const VALUES_SHOWN = 5
const VALUE_CHARS_MAX = 60

/** `3 to 7`, `green or black`, `holds tea`. */
function wordsOfCondition(condition: unknown): string {
  if (!isFields(condition)) return shown(condition)
  const { '>=': least, '<=': most, '<': below, ...rest } = condition
  const to = most === undefined ? '' : `to ${shown(most)}`
  const range = [
    least === undefined ? '' : `from ${shown(least)}`,
    below === undefined ? to : `before ${shown(below)}`,
  ]
  const others = Object.entries(rest).map(([operator, value]) => {
    if (operator === 'in' && Array.isArray(value)) return alternatives(value)
    if (operator === 'contains') return `holds ${shown(value)}`
    return `${operator} ${shown(value)}`
  })
  return [...range, ...others].filter((words) => words !== '').join(' ')
}

function alternatives(values: readonly unknown[]): string {
  const words = values.slice(0, VALUES_SHOWN).map(shown).join(' or ')
  const more = values.length - VALUES_SHOWN
  return more > 0 ? `${words} or ${more} more` : words
}

function shown(value: unknown): string {
  if (value === null) return 'no value'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX).toWellFormed()}…` : text
}
