/** The conditions on metadata of a list or a search, in words. */
import { isObject } from '../../../core/json.ts'
import { shortened } from '../../../core/short-text.ts'
import { type Filters, without } from '../../api/filters.ts'
import { Button, Icon } from '../button.tsx'

/** The filters; a click removes one. */
export function FilterChips(props: {
  readonly filters: Filters
  readonly onFilters: (filters: Filters) => void
}) {
  const { filters, onFilters } = props
  const names = Object.keys(filters)
  if (names.length === 0) return null
  return (
    <ul class="row chips" aria-label="Filters">
      {names.map((name) => (
        <li key={name}>
          <Button
            look="small"
            aria-label={`Remove the filter ${name}`}
            onClick={() => onFilters(without(filters, name))}
          >
            <span class="one-line">
              {name.replace(/^metadata\./i, '')}: {wordsOfCondition(filters[name])}
            </span>
            <Icon name="close" />
          </Button>
        </li>
      ))}
      <li>
        <Button look="small quiet" label="Clear filters" onClick={() => onFilters({})} />
      </li>
    </ul>
  )
}

const VALUES_SHOWN = 5
const OPERATORS: Readonly<Record<string, string>> = {
  ...{ '>=': 'from', '<=': 'to', '<': 'before', contains: 'contains' },
}

/** Describes a condition, such as `from 3 to 7`, `green or black` or `contains tea`. */
function wordsOfCondition(condition: unknown): string {
  if (!isObject(condition)) return shown(condition)
  const words = Object.entries(condition).map(([operator, value]) => {
    if (operator === 'in' && Array.isArray(value)) {
      const more = value.length - VALUES_SHOWN
      const some = value.slice(0, VALUES_SHOWN).map(shown).join(' or ')
      return more > 0 ? `${some} or ${more} more` : some
    }
    return `${OPERATORS[operator] ?? operator} ${shown(value)}`
  })
  return words.join(' ')
}

function shown(value: unknown): string {
  if (value === null) return 'no value'
  return shortened(typeof value === 'string' ? value : JSON.stringify(value), 60)
}
