/** Pairs each character of one text with the one at the same position in the other. */
export function twinSigns(signs: string, twins: string): ReadonlyMap<string, string> {
  const others = Array.from(twins)
  return new Map(Array.from(signs, (sign, index) => [sign, others[index] ?? sign]))
}

/** `a3≤ a5∞`: codes in hexadecimal, each with its sign. */
export function signsByCode(text: string): ReadonlyMap<number, string> {
  const pairs = text.match(/[0-9a-f]+[^0-9a-f\s]/g) ?? []
  return new Map(pairs.map((pair) => [Number.parseInt(pair, 16), pair.at(-1) ?? '']))
}
