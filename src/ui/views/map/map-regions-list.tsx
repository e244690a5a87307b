/** The regions as a list: what the picture shows, for those who do not see it. */
import type { MapRegion } from '../../api/maps.ts'
import { counted } from '../../format/numbers.ts'

interface MapRegionsListProps {
  readonly regions: readonly MapRegion[]
  readonly onChosen: (region: number) => void
}

export function MapRegionsList({ regions, onChosen }: MapRegionsListProps) {
  const shown = regions
    .map((region, index) => ({ region, index }))
    .filter(({ region }) => region.level === 0)
    .toSorted((a, b) => b.region.point_count - a.region.point_count)
  return (
    <section class="panel stack" aria-label="Regions">
      <h2>Regions</h2>
      <ul class="map-regions">
        {shown.map(({ region, index }) => (
          <li key={index}>
            <button type="button" class="map-region" onClick={() => onChosen(index)}>
              <span class="one-line" dir="auto">
                {region.words.join(' · ') || 'no words of its own'}
              </span>
              <span class="quiet small">{counted(region.point_count, 'chunk')}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
