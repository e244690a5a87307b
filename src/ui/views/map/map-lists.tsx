/** Controls for colouring the points, the legend, and the list of regions. */
import { useLayoutEffect, useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { MapRegion } from '../../api/maps.ts'
import { Button } from '../../components/button.tsx'
import { SearchInput } from '../../components/form/field.tsx'
import { knownOf } from '../../components/known-name.ts'
import { counted, shownCount } from '../../components/numbers.ts'
import { Section } from '../../components/record-list.tsx'
import type { Selection } from './map-model.ts'
import {
  FAINT,
  GRADIENT,
  GRADIENT_STEPS,
  type LegendEntry,
  OTHERS,
  placeOfRegion,
} from './point-colours.ts'

export function MapColouring(
  props: KnowledgeBaseName & {
    /** Empty for none. */
    readonly column: string
    readonly searched: string
    /** Called with the new choice, to store it in the address. */
    readonly onColour: (by: Readonly<Record<string, string>>) => void
  },
) {
  const { project, name, column, searched, onColour } = props
  const [text, setText] = useState(searched)
  // Follows changes made with the Back and Forward buttons.
  useLayoutEffect(() => setText(searched), [searched])
  const kb = knownOf('knowledgeBases', { project, name })
  const columns = Object.keys(kb?.metadata_types ?? {})
  const shown = column === '' || columns.includes(column) ? columns : [column, ...columns]
  return (
    <div class="row">
      <label class="row small">
        Colour by
        <select
          value={searched === '' ? column : '\n'}
          onChange={({ currentTarget: { value } }) => {
            onColour(value === '' ? {} : { colour: value })
            setText('')
          }}
        >
          <option value="">region</option>
          {searched !== '' && <option value={'\n'}>similarity</option>}
          {shown.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <form
        class="row grow map-search"
        onSubmit={(event) => {
          event.preventDefault()
          onColour(text.trim() === '' ? {} : { q: text.trim() })
        }}
      >
        <SearchInput
          label="Colour by similarity to a text"
          placeholder="or by similarity to a text"
          value={text}
          onText={setText}
        />
        <Button type="submit" label="Show" />
      </form>
    </div>
  )
}

/** The legend of the colours. A click on an entry selects its points. */
export function MapLegend(props: {
  readonly legend: readonly LegendEntry[]
  readonly selected: string | undefined
  readonly onSelect: (selection: Selection) => void
}) {
  const { legend, selected, onSelect } = props
  return (
    <Section title="Colours" class="panel stack">
      <ul class="list" aria-label="Colours">
        {legend.map(({ label, count, first, last }) => (
          <li key={first}>
            <button
              type="button"
              class="entry"
              title="Select these chunks"
              aria-pressed={selected === JSON.stringify({ first, last })}
              onClick={() => onSelect({ first, last })}
            >
              <MapSwatch place={(first + last) / 2} />
              <span class="one-line grow">{label}</span>
              <span class="quiet small">{shownCount(count)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  )
}

interface MapRegionsListProps {
  readonly regions: readonly MapRegion[]
  /** Whether regions determine the colours. */
  readonly isLegend: boolean
  readonly selected: string | undefined
  readonly onSelect: (selection: Selection) => void
}

/** The regions as a list, which is an alternative to the picture and the legend of its colours. */
export function MapRegionsList(props: MapRegionsListProps) {
  return (
    <Section title="Regions" class="panel stack">
      <Parts of={null} {...props} />
    </Section>
  )
}

function Parts(
  props: MapRegionsListProps & {
    /** The index of the region; null for the whole map. */
    readonly of: number | null
  },
) {
  const { of, regions, isLegend, selected, onSelect } = props
  const parts = regions
    .map((region, index) => ({ region, index }))
    .filter(({ region }) => region.parent === of)
    .toSorted((a, b) => b.region.point_count - a.region.point_count)
  // A region with only one part is the same as that part.
  if (parts.length === 0 || (of !== null && parts.length === 1)) return null
  const list = (
    <ul class="list">
      {parts.map(({ region, index }) => (
        <li key={index}>
          <button
            type="button"
            class="entry"
            title="Select these chunks"
            aria-pressed={selected === JSON.stringify({ region: index })}
            onClick={() => onSelect({ region: index })}
          >
            {of === null && isLegend && <MapSwatch place={placeOfRegion(regions, index)} />}
            <bdi class="grow">{region.words.join(' · ') || 'no typical words'}</bdi>
            <span class="quiet small">{shownCount(region.point_count)}</span>
          </button>
          <Parts {...props} of={index} />
        </li>
      ))}
    </ul>
  )
  if (of === null) return list
  return (
    <details class="indent">
      <summary class="small quiet">{counted(parts.length, 'part')}</summary>
      {list}
    </details>
  )
}

/** A sample of a point's colour for the legend. */
function MapSwatch({ place }: { readonly place: number }) {
  return <span class="map-swatch" style={{ background: colourOf(place) }} />
}

/** @param place the index in the palette; a fraction is between two colours of a gradient */
function colourOf(place: number): string {
  if (place === FAINT) return 'var(--line)'
  if (place === OTHERS) return 'var(--edge)'
  if (place < GRADIENT) return `var(--series-${place})`
  const share = (100 * (place - GRADIENT)) / (GRADIENT_STEPS - 1)
  return `color-mix(in srgb, var(--series-3) ${share}%, var(--map-low))`
}
