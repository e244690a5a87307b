/** What the colours of the points mean: each entry selects the points that have it. */
import { shownCount } from '../../format/numbers.ts'
import { type Selection, textOfSelection } from './map-address.ts'
import { MapSwatch } from './map-swatch.tsx'
import type { LegendEntry } from './point-colours.ts'

interface MapLegendProps {
  readonly legend: readonly LegendEntry[]
  /** What is selected, as the address says it. */
  readonly selected: string | undefined
  readonly onSelect: (selection: Selection) => void
}

export function MapLegend({ legend, selected, onSelect }: MapLegendProps) {
  return (
    <section class="panel stack" aria-label="Colours of the points">
      <h2>Colours</h2>
      <ul class="map-list" aria-label="Colours">
        {legend.map(({ label, count, first, last, selection }) => (
          <li key={first}>
            <button
              type="button"
              class="map-entry"
              title="Select these chunks"
              aria-pressed={selected === textOfSelection(selection)}
              onClick={() => onSelect(selection)}
            >
              <MapSwatch place={(first + last) / 2} />
              <span class="one-line" dir="auto">
                {label}
              </span>
              <span class="quiet small">{shownCount(count)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
