/** `SELECT product, total FROM agent …`: an answer in named fields. */

/** The question with what its answer must look like; without fields it stays as it is. */
export function questionWithFields(question: string, fields: readonly string[]): string {
  if (fields.length === 0) return question
  const names = fields.map((field) => JSON.stringify(field)).join(', ')
  const form = `Answer with a JSON array of objects with the keys ${names}, and nothing else.`
  return `${question}\n\n${form}`
}

/**
 * The answer's objects with their keys in lower case; where the answer is no JSON, one row without fields. JSON within a
 * Markdown fence or a sentence counts.
 */
export function answerFields(
  answer: string,
  fields: readonly string[],
): readonly Readonly<Record<string, unknown>>[] {
  if (fields.length === 0) return [{}]
  const found = jsonIn(answer)
  const objects = (Array.isArray(found) ? found : [found]).filter(isObject)
  if (objects.length === 0) return [{}]
  return objects.map((object) => {
    const entries = Object.entries(object).map(([key, value]) => [key.toLowerCase(), value])
    return Object.fromEntries(entries)
  })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function jsonIn(answer: string): unknown {
  for (const [open, close] of [
    ['[', ']'],
    ['{', '}'],
  ] as const) {
    const start = answer.indexOf(open)
    const end = answer.lastIndexOf(close)
    if (start === -1 || end < start) continue
    try {
      return JSON.parse(answer.slice(start, end + 1))
    } catch {
      // Brackets of a sentence: the other kind may still hold JSON.
    }
  }
  return undefined
}
