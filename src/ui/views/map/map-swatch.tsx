/** A colour of points, as a legend shows it. */
import { FAINT, GRADIENT, GRADIENT_STEPS, OTHERS } from './point-colours.ts'

export function MapSwatch({ place }: { readonly place: number }) {
  return <span class="map-swatch" style={{ background: colourOf(place) }} />
}

/** @param place in the palette; between two of a gradient, what lies between them */
function colourOf(place: number): string {
  if (place === FAINT) return 'var(--line)'
  if (place === OTHERS) return 'var(--edge)'
  if (place < GRADIENT) return `var(--series-${place})`
  const share = (100 * (place - GRADIENT)) / (GRADIENT_STEPS - 1)
  return `color-mix(in srgb, var(--series-3) ${share}%, var(--map-low))`
}
