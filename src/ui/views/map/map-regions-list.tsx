/** The regions as a list: what the picture shows, for those who do not see it, and what its colours mean. */
import type { MapRegion } from '../../api/maps.ts'
import { counted, shownCount } from '../../components/numbers.ts'
import { regionSelection, type Selection, textOfSelection } from './map-address.ts'
import { MapSwatch } from './map-swatch.tsx'
import { placeOfRegion } from './point-colours.ts'

interface MapRegionsListProps {
  readonly regions: readonly MapRegion[]
  /** Of the map. */
  readonly version: string
  /** Regions colour the points. */
  readonly isLegend: boolean
  /** What is selected, as the address says it. */
  readonly selected: string | undefined
  readonly onSelect: (selection: Selection) => void
}

export function MapRegionsList(props: MapRegionsListProps) {
  return (
    <section class="panel stack" aria-label="Regions">
      <h2>Regions</h2>
      <Parts of={null} {...props} />
    </section>
  )
}

interface PartsProps extends MapRegionsListProps {
  /** Index of the region; null: of the map. */
  readonly of: number | null
}

function Parts(props: PartsProps) {
  const { of, regions, version, isLegend, selected, onSelect } = props
  const parts = regions
    .map((region, index) => ({ region, index }))
    .filter(({ region }) => region.parent === of)
    .toSorted((a, b) => b.region.point_count - a.region.point_count)
  // A region of one part is that part.
  if (parts.length === 0 || (of !== null && parts.length === 1)) return null
  const list = (
    <ul class="map-list">
      {parts.map(({ region, index }) => (
        <li key={index}>
          <button
            type="button"
            class="map-entry"
            title="Select these chunks"
            aria-pressed={selected === textOfSelection(regionSelection(regions, index, version))}
            onClick={() => onSelect(regionSelection(regions, index, version))}
          >
            {of === null && isLegend && <MapSwatch place={placeOfRegion(regions, index)} />}
            <span class="map-words" dir="auto">
              {region.words.join(' · ') || 'no words of its own'}
            </span>
            <span class="quiet small">{shownCount(region.point_count)}</span>
          </button>
          <Parts {...props} of={index} />
        </li>
      ))}
    </ul>
  )
  if (of === null) return list
  return (
    <details class="map-parts">
      <summary class="small quiet">{counted(parts.length, 'part')}</summary>
      {list}
    </details>
  )
}
