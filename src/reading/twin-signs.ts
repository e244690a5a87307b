/** Pairs the characters at the same positions in two texts. */
export function twinSigns(signs: string, twins: string): ReadonlyMap<string, string> {
  const others = Array.from(twins)
  return new Map(Array.from(signs, (sign, index) => [sign, others[index] ?? sign]))
}

/** Parses `a3≤ a5∞`: hexadecimal codes, each with its character. */
export function signsByCode(text: string): ReadonlyMap<number, string> {
  const pairs = text.match(/[0-9a-f]+[^0-9a-f\s]/g) ?? []
  return new Map(pairs.map((pair) => [Number.parseInt(pair, 16), pair.at(-1) ?? '']))
}
