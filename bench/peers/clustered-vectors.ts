import { seededRandom } from '../sample-texts.ts'

const CENTROIDS = 1000
/** The spread of a vector's parts around its centroid, relative to the parts of the centroid. */
const SPREAD = 0.7

/** Generates unit vectors around 1000 random centroids, in the same sequence for the same seed. */
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
