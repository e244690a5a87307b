/** A passage's number; a longer, a negative or a broken one is none. */
const NUMBER = /(?<![\d.-])\d{1,4}(?![\d.]*\d)/gu
const LIST = /\[\s*-?\d+(?:\s*,\s*-?\d+)+\s*\]/gu

/**
 * The order of `count` passages that an answer names, as positions from 0: the longest list in
 * brackets, else all numbers as they come (`[2] > [1] > [3]`, one a line). Numbers that no passage
 * has, and those that came before, are nothing; passages that are not named keep their order behind
 * those that are.
 * @returns null where the answer names no passage
 */
export function namedOrder(answer: string, count: number): readonly number[] | null {
  const lists = answer.match(LIST) ?? []
  const longest = lists.toSorted((first, second) => second.length - first.length)[0]
  const numbers = (longest ?? answer).match(NUMBER) ?? []
  const positions = numbers.map((digits) => Number(digits) - 1)
  const named = new Set(positions.filter((position) => position >= 0 && position < count))
  if (named.size === 0) return null
  const all = Array.from({ length: count }, (_, position) => position)
  return [...named, ...all.filter((position) => !named.has(position))]
}
