/** Shortens texts to fit on one line of a message or a title. */

/** Replaces white space, including line breaks, by single spaces. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Formats counts: `1 document`, `3 documents`. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`
}

/** @param charsMax how many code units of a longer text are kept before "…" */
export function shortened(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`
}

/** Removes tagged reasoning of a model. Empty if the text was cut off inside of it. */
export function withoutThoughts(reply: string): string {
  const answer = reply.split('</think>').at(-1) ?? ''
  return answer.includes('<think>') ? '' : answer.trim()
}

/** Decodes percent-encoding; a text with an invalid `%` is returned unchanged. */
export function uriDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The candidate that a misspelt name probably means, ignoring case; or undefined. */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) >= bestDistance) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** The end of a message about an unknown name; empty without a similar one. */
export function didYouMean(name: string | undefined): string {
  return name === undefined ? '' : `. Did you mean "${name}"?`
}

/** The number of characters to insert, delete, replace or swap (optimal string alignment). */
function editDistance(first: string, second: string): number {
  const rows = [Array.from({ length: second.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= first.length; i += 1) {
    const above = rows[i - 1] ?? []
    const row = [i]
    for (let j = 1; j <= second.length; j += 1) {
      const cost = first[i - 1] === second[j - 1] ? 0 : 1
      const isSwap = first[i - 1] === second[j - 2] && first[i - 2] === second[j - 1]
      const swapped = isSwap ? (rows[i - 2]?.[j - 2] ?? Number.POSITIVE_INFINITY) + 1 : i + j
      const [left = 0, up = 0, both = 0] = [row[j - 1], above[j], above[j - 1]]
      row.push(Math.min(left + 1, up + 1, both + cost, swapped))
    }
    rows.push(row)
  }
  return rows[first.length]?.[second.length] ?? 0
}
