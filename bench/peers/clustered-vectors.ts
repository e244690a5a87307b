import { seededRandom } from '../sample-texts.ts'

const CENTROIDS = 1000
/** Of the parts of a vector about its centroid, when those of the centroid are 1. */
const SPREAD = 0.7

/** Unit vectors about 1000 random centroids, the same sequence for the same seed. */
export function* clusteredVectors(
  seed: number,
  dimensions: number,
): Generator<Float32Array, never> {
  const random = seededRandom(seed)
  const part = () => random() + random() + random() - 1.5
  const centroids = Array.from({ length: CENTROIDS }, () => {
    return Float32Array.from({ length: dimensions }, part)
  })
  for (;;) {
    const centroid = centroids[Math.floor(random() * CENTROIDS)]
    if (centroid === undefined) throw new Error('the generator left 0..1')
    const vector = centroid.map((one) => one + SPREAD * part())
    const length = Math.hypot(...vector)
    yield vector.map((one) => one / length)
  }
}
