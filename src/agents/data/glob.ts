import { nameKey } from '../../core/domain/names.ts'

/**
 * Whether a name matches a pattern: `*` matches any characters, `?` one. Without case, in at most pattern × name steps.
 */
export function matchesGlob(pattern: string, name: string): boolean {
  const patternChars = [...nameKey(pattern)]
  const nameChars = [...nameKey(name)]
  let patternIndex = 0
  let nameIndex = 0
  let starIndex = -1
  let starNameIndex = 0
  while (nameIndex < nameChars.length) {
    const char = patternChars[patternIndex]
    if (char === '*') {
      starIndex = patternIndex
      starNameIndex = nameIndex
      patternIndex += 1
    } else if (char === '?' || char === nameChars[nameIndex]) {
      patternIndex += 1
      nameIndex += 1
    } else if (starIndex !== -1) {
      // The last star matches one more character.
      starNameIndex += 1
      nameIndex = starNameIndex
      patternIndex = starIndex + 1
    } else {
      return false
    }
  }
  return patternChars.slice(patternIndex).every((char) => char === '*')
}
