/**
 * Two heaps in memory, in AssemblyScript: one of pairs of a distance and a key, farthest on top,
 * and one of numbers, smallest on top. The caller keeps the counts.
 */

// @ts-ignore: a decorator of AssemblyScript
@inline
function at(base: usize, index: i32): usize {
  return base + (<usize>index << 3)
}

/** Compares by distance. If equal, the larger key counts as farther. */
// @ts-ignore: a decorator of AssemblyScript
@inline
export function isFarther(distance: f64, key: f64, thanDistance: f64, thanKey: f64): bool {
  return distance > thanDistance || (distance == thanDistance && key > thanKey)
}

export function pushPair(
  distances: usize,
  keys: usize,
  count: i32,
  distance: f64,
  key: f64,
): void {
  let index = count
  while (index > 0) {
    const parent = (index - 1) >> 1
    const parentDistance = load<f64>(at(distances, parent))
    const parentKey = load<f64>(at(keys, parent))
    if (!isFarther(distance, key, parentDistance, parentKey)) break
    store<f64>(at(distances, index), parentDistance)
    store<f64>(at(keys, index), parentKey)
    index = parent
  }
  store<f64>(at(distances, index), distance)
  store<f64>(at(keys, index), key)
}

/** Replaces the farthest pair in a heap of `count`. */
export function replaceTop(
  distances: usize,
  keys: usize,
  count: i32,
  distance: f64,
  key: f64,
): void {
  let index = 0
  for (let child = 1; child < count; child = 2 * index + 1) {
    let childDistance = load<f64>(at(distances, child))
    let childKey = load<f64>(at(keys, child))
    if (child + 1 < count) {
      const rightDistance = load<f64>(at(distances, child + 1))
      const rightKey = load<f64>(at(keys, child + 1))
      if (isFarther(rightDistance, rightKey, childDistance, childKey)) {
        child++
        childDistance = rightDistance
        childKey = rightKey
      }
    }
    if (!isFarther(childDistance, childKey, distance, key)) break
    store<f64>(at(distances, index), childDistance)
    store<f64>(at(keys, index), childKey)
    index = child
  }
  store<f64>(at(distances, index), distance)
  store<f64>(at(keys, index), key)
}

/** Sorts the pairs, nearest first. They do not form a heap afterwards. */
export function sortPairs(distances: usize, keys: usize, count: i32): void {
  for (let last = count - 1; last > 0; last--) {
    const distance = load<f64>(distances)
    const key = load<f64>(keys)
    replaceTop(distances, keys, last, load<f64>(at(distances, last)), load<f64>(at(keys, last)))
    store<f64>(at(distances, last), distance)
    store<f64>(at(keys, last), key)
  }
}

export function pushNumber(numbers: usize, count: i32, number: f64): void {
  let index = count
  while (index > 0) {
    const parent = (index - 1) >> 1
    const above = load<f64>(at(numbers, parent))
    if (above <= number) break
    store<f64>(at(numbers, index), above)
    index = parent
  }
  store<f64>(at(numbers, index), number)
}

/** Replaces the smallest number in a heap of `count`. */
export function replaceLowest(numbers: usize, count: i32, number: f64): void {
  let index = 0
  for (let child = 1; child < count; child = 2 * index + 1) {
    let below = load<f64>(at(numbers, child))
    if (child + 1 < count) {
      const right = load<f64>(at(numbers, child + 1))
      if (right < below) {
        child++
        below = right
      }
    }
    if (below >= number) break
    store<f64>(at(numbers, index), below)
    index = child
  }
  store<f64>(at(numbers, index), number)
}
