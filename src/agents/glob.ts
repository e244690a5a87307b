import { nameKey } from '../domain/identifier.ts'

/**
 * Whether a name is meant by a pattern: `*` stands for any characters, `?` for one. Without case,
 * in at most pattern × name steps.
 */
export function matchesGlob(pattern: string, name: string): boolean {
  const wanted = [...nameKey(pattern)]
  const given = [...nameKey(name)]
  let at = 0
  let position = 0
  let starAt = -1
  let starPosition = 0
  while (position < given.length) {
    if (wanted[at] === '*') {
      starAt = at
      starPosition = position
      at += 1
    } else if (wanted[at] === '?' || wanted[at] === given[position]) {
      at += 1
      position += 1
    } else if (starAt !== -1) {
      // The last star takes one character more.
      starPosition += 1
      position = starPosition
      at = starAt + 1
    } else {
      return false
    }
  }
  return wanted.slice(at).every((char) => char === '*')
}
