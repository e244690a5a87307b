/** Every metadata column with its values or its range, and how many there are of each: what is chosen narrows the list down. */

import { useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../../../api/documents.ts'
import { type ColumnTypes, type Filters, kindOfType, without } from '../../../../api/filters.ts'
import { Icon } from '../../../../components/icon.tsx'
import type { ListAddress } from '../list-address.ts'
import type { FacetProps } from './facet.ts'
import { RangeFacet } from './range-facet.tsx'
import { ValueFacet } from './value-facet.tsx'

interface FacetPanelProps {
  readonly of: KnowledgeBaseName
  readonly types: ColumnTypes
  readonly shown: ListAddress
  readonly onFilters: (filters: Filters) => void
}

export function FacetPanel({ of, types, shown, onFilters }: FacetPanelProps) {
  const columns = Object.keys(types)
  if (columns.length === 0) return null
  return (
    <details class="kb-facets panel" open={matchMedia('(min-width: 60rem)').matches}>
      <summary>
        <Icon name="filter" /> Filters
      </summary>
      {columns.map((column) => (
        <Facet
          key={column}
          of={of}
          column={column}
          types={types}
          others={without(shown.filters, column)}
          condition={shown.filters[column]}
          countsChunks={shown.shows === 'chunks'}
          onChange={(condition) => {
            const rest = without(shown.filters, column)
            onFilters(condition === undefined ? rest : { ...rest, [column]: condition })
          }}
        />
      ))}
    </details>
  )
}

/** Counted when it is opened for the first time. */
function Facet(props: FacetProps) {
  const [isOpen, setIsOpen] = useState(props.condition !== undefined)
  const kind = kindOfType(props.types[props.column] ?? 'VARCHAR')
  return (
    <details
      class="kb-facet"
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary dir="auto">{props.column}</summary>
      {isOpen &&
        (kind === 'number' || kind === 'time' ? (
          <RangeFacet {...props} />
        ) : (
          <ValueFacet {...props} />
        ))}
    </details>
  )
}
