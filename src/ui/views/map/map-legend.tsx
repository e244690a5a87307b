/** What the colours of the points mean. */
import { shownCount } from '../../format/numbers.ts'
import { FAINT, type Legend, OTHERS } from './point-colours.ts'

export function MapLegend({ legend }: { readonly legend: Legend }) {
  if (legend.kind === 'regions') {
    return <p class="small quiet">Each colour is a part of the map, named in it.</p>
  }
  if (legend.kind === 'categories') {
    return (
      <ul class="map-legend" aria-label="Colours">
        {legend.entries.map(({ label, count, place }) => (
          <li key={place}>
            <span class="map-swatch" style={{ background: swatchOf(place) }} />
            <span class="one-line" dir="auto">
              {label}
            </span>
            <span class="quiet small">{shownCount(count)}</span>
          </li>
        ))}
      </ul>
    )
  }
  return (
    <div class="map-gradient-legend">
      <span>{shownValue(legend.kind, legend.least)}</span>
      <span class="map-gradient" />
      <span>{shownValue(legend.kind, legend.most)}</span>
    </div>
  )
}

function swatchOf(place: number): string {
  if (place === FAINT) return 'var(--line)'
  return place === OTHERS ? 'var(--edge)' : `var(--series-${place})`
}

function shownValue(kind: 'numbers' | 'times', value: number): string {
  if (kind === 'times') return new Date(value).toISOString().slice(0, 10)
  return new Intl.NumberFormat('en', { maximumSignificantDigits: 4 }).format(value)
}
