/** `a, b`: the names in it; null where it is empty: all. */
export function namesIn(text: string): readonly string[] | null {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return names.length === 0 ? null : names
}
